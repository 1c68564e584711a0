package boundary_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A badTool is a tool that misbehaves in a way that the generator does not draw: by its types,
// its schema, its arguments or its middleware. At most one of raw and typed makes it.
type badTool struct {
	name   string
	raw    mcp.ToolHandler
	typed  mcp.ToolHandlerFor[input, any]
	output any    // its schema
	args   string // JSON; empty: {}

	want judge.Outcome
	kind string // the error's type
}

var (
	complete = judge.Complete
	isError  = judge.ErrorResult
	refused  = judge.ProtocolError
)

func badTools() []badTool { return append(badResults(), badCalls()...) }

// badResults go wrong by what their handler returns.
func badResults() []badTool {
	meta := func(key, value string) mcp.ToolHandler {
		return returns(&mcp.CallToolResult{Content: text("a").Content, Meta: mcp.Meta{key: json.RawMessage(value)}})
	}
	questions := asks(&mcp.ElicitParams{Message: "?"}).InputRequests
	return []badTool{
		{name: "panic_typed", typed: typed(panics("s3cret")), want: isError, kind: "internal"},
		{name: "goexit_typed", typed: typed(exits), want: isError, kind: "internal"},
		{name: "nil_nil", raw: fails(nil), want: isError, kind: "no_result"},
		{name: "result_and_error", raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("fine"), errors.New("not fine")
		}, want: isError, kind: "execution"},
		{name: "error_by_hand", raw: returns(&mcp.CallToolResult{IsError: true}), want: isError, kind: "execution"},
		{name: "error_that_says_nothing", raw: returns(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}, &mcp.TextContent{Text: " "}}}), want: isError, kind: "execution"},
		{name: "error_structured", raw: returns(&mcp.CallToolResult{IsError: true, Content: text("no").Content, StructuredContent: map[string]any{"celsius": "warm"}}), output: celsius, want: isError, kind: "execution"},
		{name: "cancelled_upstream", typed: raises(fmt.Errorf("dial: %w", context.Canceled)), want: isError, kind: "execution"},
		{name: "timeout_upstream", typed: raises(fmt.Errorf("dial: %w", context.DeadlineExceeded)), want: isError, kind: "timeout"},
		{name: "asks_and_answers", raw: returns(&mcp.CallToolResult{Content: text("hello").Content, InputRequests: questions}), want: isError, kind: "malformed_result"},
		{name: "asks_without_a_schema", raw: returns(asks(&mcp.ElicitParams{Message: "?"})), want: judge.InputRequired},
		{name: "asks_and_fails", raw: returns(&mcp.CallToolResult{IsError: true, InputRequests: questions}), want: isError},

		{name: "typed_func", typed: outputs(map[string]any{"v": func() {}}), want: isError, kind: "invalid_output"},
		{name: "output_missing", raw: returns(text("hello")), output: celsius, want: isError, kind: "invalid_output"},
		{name: "output_wrong", raw: returns(structured(map[string]any{"celsius": "warm"})), output: celsius, want: isError, kind: "invalid_output"},
		{name: "output_typed", typed: outputs(map[string]any{"celsius": "warm"}), output: celsius, want: isError, kind: "invalid_output"},
		{name: "output_twice", raw: makes(func() *mcp.CallToolResult { return structured(twice(`{"celsius":1}`)) }), output: celsius, want: complete},
		{name: "output_too_large", raw: returns(structured(map[string]any{"celsius": 1, "note": strings.Repeat("x", 4*maxResultBytes)})), output: celsius, want: isError, kind: "too_large"},
		{name: "output_array", raw: returns(structured([]int{1})), output: &jsonschema.Schema{Type: "array"}, want: complete},
		{name: "structured_text", raw: returns(structured("text")), want: complete},
		{name: "structured_null", raw: returns(structured(json.RawMessage(`null`))), want: complete},

		{name: "resource_empty", raw: returns(content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a"}})), want: complete},
		{name: "link_unnamed", raw: returns(content(&mcp.ResourceLink{URI: "file:///a"})), want: complete},
		{name: "foreign_not_one_block", raw: returns(content(foreign{marshal: func() ([]byte, error) { return []byte(`[]`), nil }})), want: isError, kind: "malformed_result"},
		{name: "meta_server_nameless", raw: meta(mcp.MetaKeyServerInfo, `{"name":"s"}`), want: isError, kind: "malformed_result"},
		{name: "meta_server", raw: meta(mcp.MetaKeyServerInfo, `{"name":"s","version":"1"}`), want: complete},
		{name: "meta_token", raw: meta("progressToken", `1.5`), want: isError, kind: "malformed_result"},
		{name: "meta_deep", raw: meta("x", strings.Repeat("[", 997)+strings.Repeat("]", 997)), want: isError, kind: "malformed_result"},
		{name: "meta_as_deep_as_can_be", raw: meta("x", strings.Repeat("[", 996)+strings.Repeat("]", 996)), want: complete},
		{name: "meta_huge_number", raw: meta("x", `[{"a":[-1e999]}]`), want: isError, kind: "malformed_result"},
		{name: "meta_number", raw: meta("x", `[{"a":[-1e9]}]`), want: complete},
	}
}

// badCalls go wrong by their error, their arguments or the middleware.
func badCalls() []badTool {
	return []badTool{
		{name: "protocol_silent", raw: fails(&jsonrpc.Error{Code: 7}), want: refused},
		{name: "protocol_no_code", raw: fails(&jsonrpc.Error{Message: "what"}), want: isError, kind: "execution"},
		{name: "protocol_bad_data", raw: fails(&jsonrpc.Error{Code: -32000, Message: "what", Data: json.RawMessage(`{`)}), want: isError, kind: "execution"},

		{name: "no_such_tool", want: refused},
		{name: "arguments_wrong", typed: outputs("fine"), args: `{"place":3,"days":"many"}`, want: isError, kind: "validation"},
		{name: "arguments_unknown", typed: outputs("fine"), args: `{"palce":"Lisbon"}`, want: isError, kind: "validation"},
		{name: "arguments_null", typed: outputs("fine"), args: `null`, want: complete},
		{name: "arguments_overflow", typed: outputs("fine"), args: `{"days":1e30}`, want: isError, kind: "validation"},
		{name: "arguments_ansi", typed: outputs("fine"), args: `{"\u001b[31m\n\u202e":1}`, want: isError, kind: "validation"},
		{name: "arguments_deep", typed: outputs("fine"), args: `{"place":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`, want: isError, kind: "validation"},

		{name: "middleware_panic", want: isError, kind: "internal"},
		{name: "middleware_goexit", want: isError, kind: "internal"},
		{name: "middleware_nil", want: isError, kind: "no_result"},
		{name: "middleware_typed_nil", want: isError, kind: "no_result"},
		{name: "middleware_other_result", want: isError, kind: "no_result"},
		{name: "middleware_unstamped", want: complete},
	}
}

// spoil is the server's other middleware.
func spoil(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	call, ok := req.(*mcp.CallToolRequest)
	if !ok {
		return next(ctx, method, req)
	}
	switch call.Params.Name {
	case "middleware_panic":
		panic("s3cret")
	case "middleware_goexit":
		runtime.Goexit()
	case "middleware_nil":
		return nil, nil
	case "middleware_typed_nil":
		return (*mcp.CallToolResult)(nil), nil
	case "middleware_other_result":
		return &mcp.ListToolsResult{}, nil
	case "middleware_unstamped":
		return text("made by middleware"), nil
	}
	return next(ctx, method, req)
}

// misbehavingServer has a tool for every case, and one that does nothing wrong.
func misbehavingServer(cases []badTool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "misbehaving", Version: "1"}, &mcp.ServerOptions{Logger: silent})
	around(s, spoil)
	mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, outputs(map[string]any{"well": true}))
	for _, c := range cases {
		tool := &mcp.Tool{Name: c.name, OutputSchema: c.output}
		switch {
		case c.raw != nil:
			tool.InputSchema = json.RawMessage(`{"type":"object"}`)
			s.AddTool(tool, c.raw)
		case c.typed != nil:
			mcp.AddTool(s, tool, c.typed)
		}
	}
	return s
}

// Each misbehaving tool ends in one well-formed answer of the kind that is foretold, and the
// next call works.
func TestEveryMisbehaviourGetsOneAnswer(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			cases := badTools()
			require.NotEmpty(t, cases)
			client := speak(t, era, misbehavingServer(cases), &boundary.Options{Logger: log.logger(), MaxResultBytes: maxResultBytes, Deadline: time.Minute})
			for _, c := range cases {
				res := say(t, client, wire.Request{Name: c.name, Arguments: json.RawMessage(cmp.Or(c.args, "{}"))})
				a := read(t, atTool, era, res, c.name)
				if c.want == judge.InputRequired && era == judge.Legacy {
					c.want = isError // this client cannot be asked
				}
				require.Equal(t, c.want, a.outcome, "%s: %v", c.name, a.texts)
				if a.outcome == isError && c.kind != "" {
					require.Equal(t, c.kind, a.reason, c.name)
				}
				if schema, ok := c.output.(*jsonschema.Schema); ok && a.outcome == complete && (era == judge.Modern || schema.Type == "object") {
					_, err := judge.Answer(era, res, must(schema.Resolve(nil))(t))
					require.NoError(t, err, c.name)
				}
				records := log.take(t)
				require.Len(t, records, 1, c.name)
				require.Equal(t, a.outcome == isError && c.kind == "internal", records[0]["stack"] != nil, c.name)
				require.Equal(t, complete, read(t, atTool, era, say(t, client, wire.Request{Name: "healthy"}), c.name).outcome, c.name)
				log.take(t)
			}
			require.Zero(t, client.Surplus())
		})
	}
}

// A question that cannot be sent to a legacy client costs the call an error, whose cause is for
// the log alone: the value of a panic too. go-sdk asks such a client from a goroutine of its
// own and encodes the schema again after the answer, where a panic would end the process.
func TestQuestionsForALegacyClient(t *testing.T) {
	ask := func(schema any, meta mcp.Meta) mcp.ToolHandler {
		return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses == nil {
				return asks(&mcp.ElicitParams{Message: "?", RequestedSchema: schema, Meta: meta}), nil
			}
			return text("answered"), nil
		}
	}
	const unasked = "The question was not asked because of a fault in the server."
	for name, tc := range map[string]struct {
		tool  mcp.ToolHandler
		cause string // empty: it is answered
	}{
		"code that runs once":          {ask(twice(`{"type":"object","properties":{}}`), nil), ""},
		"code that runs once in _meta": {ask(nil, mcp.Meta{"x": twice(`1`)}), ""},
		"no schema":                    {ask(nil, nil), ""},
		"a panic":                      {ask(marshaler(func() ([]byte, error) { panic("s3cret value") }), nil), "panic: s3cret value"},
		"an error":                     {ask(marshaler(func() ([]byte, error) { return nil, errors.New("s3cret value") }), nil), "s3cret value"},
		"text that is not UTF-8":       {ask(json.RawMessage("{\"type\":\"object\",\"properties\":{},\"title\":\"\xff\"}"), nil), "JSON that is not UTF-8"},
		"a mode that there is not":     {returns(asks(&mcp.ElicitParams{Mode: "dance", Message: "?"})), `/mode must be one of "form", "url"`},
		"the handler asks, and it panics": {func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: marshaler(func() ([]byte, error) { panic("s3cret value") })})
			return nil, err
		}, "s3cret value"},
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			s := newServer()
			addRaw(s, "t", tc.tool)
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger()}))
			res, _ := callTool(t, asker(t, s, "2025-11-25"), "t", nil)
			if tc.cause == "" {
				require.Equal(t, []string{"answered"}, texts(res))
				return
			}
			require.True(t, res.IsError)
			require.NotContains(t, texts(res)[0], "s3cret")
			require.Contains(t, texts(res)[0], unasked)
			record := log.take(t)[0]
			require.Equal(t, "ERROR", record["level"])
			require.Contains(t, record["cause"], tc.cause)
		})
	}
}

// ofItsOwn is a result of middleware's own.
type ofItsOwn struct {
	mcp.ResultBase
	ResultType any    `json:"resultType,omitempty"`
	Handle     string `json:"handle"`
}

// A result of a type that the boundary does not know reaches a modern client as it is, with
// one line in the log. One of a usual type that is none of its method's is replaced, as are all
// for a legacy client, and anything too large or that does not marshal.
func TestAResultOfAnotherTypePasses(t *testing.T) {
	meta := mcp.ResultBase{Meta: mcp.Meta{"a": 1}}
	for explanation, test := range map[string]struct {
		res    mcp.Result
		passes bool
		legacy bool
	}{
		"another type":             {res: &ofItsOwn{meta, "task", "h"}, passes: true},
		"another type, to legacy":  {res: &ofItsOwn{meta, "task", "h"}, legacy: true},
		"too large":                {res: &ofItsOwn{meta, "task", strings.Repeat("h", 10_000)}},
		"complete":                 {res: &ofItsOwn{meta, "complete", "h"}},
		"asking":                   {res: &ofItsOwn{meta, "input_required", "h"}},
		"no type":                  {res: &ofItsOwn{meta, nil, "h"}},
		"an empty type":            {res: &ofItsOwn{meta, "", "h"}},
		"a type that is no text":   {res: &ofItsOwn{meta, 7, "h"}},
		"a nil pointer":            {res: (*ofItsOwn)(nil)},
		"one that panics":          {res: &ofItsOwn{meta, marshaler(func() ([]byte, error) { panic("boom") }), "h"}},
		"that of another method":   {res: &mcp.ListToolsResult{}},
		"a _meta that is no plain": {res: &ofItsOwn{mcp.ResultBase{Meta: mcp.Meta{"a": func() {}}}, "task", "h"}},
	} {
		var log journal
		s := newServer()
		mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("unused"))
		methods := []string{"tools/call", "prompts/get", "resources/read"}
		around(s, func(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
			if slices.Contains(methods, method) {
				return test.res, nil
			}
			return next(ctx, method, req)
		})
		era := map[bool]judge.Era{false: judge.Modern, true: judge.Legacy}[test.legacy]
		client := speak(t, era, s, &boundary.Options{Logger: log.logger(), MaxResultBytes: 4096})
		for _, method := range methods {
			name := explanation + ", " + method
			res := say(t, client, wire.Request{Method: method, Name: "t"})
			if test.passes {
				require.JSONEq(t, `{"resultType":"task","handle":"h","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`, string(res.Result), name)
			} else {
				require.True(t, res.Error != nil || strings.Contains(string(res.Result), `"isError":true`), "%s: %s", name, res.Result)
			}
			records := log.take(t)
			require.Len(t, records, 1, name)
			require.Equal(t, test.passes, records[0]["level"] == "INFO" && records[0]["resultBytes"] != nil, "%s: %v", name, records[0])
		}
	}
}
