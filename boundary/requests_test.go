package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

type (
	searchParams struct {
		mcp.ParamsBase
		For string `json:"for"`
	}
	searchResult struct {
		mcp.ResultBase
		Hit any `json:"hit"`
	}
	completer = func(context.Context) (*mcp.CompleteResult, error)
)

const customMethod = "test/search"

// everything is a server that serves every method. complete, if not nil, is its completions.
func everything(t *testing.T, complete completer) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		Logger: silent,
		CompletionHandler: func(ctx context.Context, _ *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if complete != nil {
				return complete(ctx)
			}
			return &mcp.CompleteResult{}, nil
		},
		SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
			if req.Params.URI == "test://panic" {
				panic("s3cret")
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { runtime.Goexit(); return nil },
	})
	s.AddTool(&mcp.Tool{Name: "healthy", InputSchema: json.RawMessage(`{"type":"object","properties":{"b":{"default":1}}}`)}, returns(text("fine")))
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	read := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "fine"}}}, nil
	}
	s.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "r", URITemplate: "test://x/{id}"}, read)
	require.NoError(t, mcp.AddReceivingCustomMethod(s, customMethod, func(_ context.Context, _ *mcp.ServerSession, p *searchParams) (*searchResult, error) {
		return &searchResult{Hit: p.For}, nil // it panics on null params
	}))
	return s
}

// specificationOf is the specification of a method's results, the common one if the
// method has none of its own.
func specificationOf(t *testing.T, method string, era judge.Era) *judge.Specification {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return must(judge.SpecificationOf(method, era))(t)
	}
	return must(judge.SpecificationOf("other", era))(t)
}

// Whatever a client sends to whichever method, it gets one well-formed answer, and the
// server lives.
func TestEveryMethodAnswersAnything(t *testing.T) {
	t.Parallel()
	methods := strings.Fields("completion/complete initialize logging/setLevel ping prompts/get prompts/list resources/list resources/read resources/templates/list" +
		" resources/subscribe resources/unsubscribe server/discover subscriptions/listen tools/call tools/list notifications/cancelled notifications/initialized" +
		" notifications/progress notifications/roots/list_changed no/such/method " + customMethod)
	whole := []string{``, `null`, `[]`, `[1]`, `3`, `"x"`, `true`, `{}`, `{"_meta":null}`, `{"_meta":[]}`, `{"_meta":{}}`}
	names := []string{"name", "arguments", "uri", "ref", "argument", "level", "cursor", "notifications", "protocolVersion", "capabilities", "clientInfo", "requestId", "progressToken", "inputResponses", "requestState", "for"}
	values := []string{`null`, `3`, `{}`, `[]`, `[3]`, `"x"`, `"healthy"`, `"p"`, `"test://r"`, `"test://x/1"`, `"test://panic"`, `"test://\u200b\u001b"`, `"2025-11-25"`, `{"type":"no"}`,
		`{"type":"ref/prompt","name":"p"}`, `{"name":"a","value":"b"}`, `{"name":"a","value":3}`, `{"resourceSubscriptions":[3]}`, `{"name":"c","version":"1"}`}
	for _, era := range eras {
		client := speak(t, era, everything(t, nil), &boundary.Options{Logger: silent})
		meta := string(must(json.Marshal(client.Meta()))(t))
		results := 0
		for i := range drawn {
			m := newMaker(uint64(i), nil)
			method, raw := pick(m, methods...), pick(m, whole...)
			if !m.oneIn(4) {
				members := map[string]json.RawMessage{}
				for range m.IntN(4) {
					members[pick(m, names...)] = json.RawMessage(pick(m, values...))
				}
				if era == judge.Modern && !m.oneIn(4) {
					members["_meta"] = json.RawMessage(meta)
				}
				raw = string(must(json.Marshal(members))(t))
			}
			res := say(t, client, wire.Request{Method: method, Params: json.RawMessage(raw)})
			var wire *jsonrpc.Error
			if errors.As(res.Error, &wire) && wire.Code == 0 { // go-sdk refuses it before any middleware
				if method != "notifications/cancelled" {
					require.Regexp(t, "is invalid during session initialization|^handling 'initialize': ", wire.Message, "%s %s", method, raw)
				}
				continue
			}
			_, err := specificationOf(t, method, era).Judge(res)
			if err != nil && !strings.Contains(raw, mcp.MetaKeyProtocolVersion) { // a request without an era
				_, err = specificationOf(t, method, judge.Legacy).Judge(res)
			}
			require.NoError(t, err, "%s %s: %s", method, raw, res.Result)
			require.NotContains(t, string(res.Result)+fmt.Sprint(res.Error), "s3cret")
			if res.Error == nil {
				results++
			}
		}
		require.Zero(t, client.Surplus())
		require.Greater(t, results, drawn/20, "nearly everything was refused")
	}
}

// A completion of more values than the specification allows is cut to these, and says so.
func TestCompletionsThatAreRepaired(t *testing.T) {
	var details mcp.CompletionResultDetails
	s := everything(t, func(context.Context) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: details}, nil
	})
	client := speak(t, judge.Modern, s, &boundary.Options{Logger: silent, MaxResultBytes: 1024})
	hundred := `["v"` + strings.Repeat(`,"v"`, 99) + `]`
	for _, tc := range []struct {
		details mcp.CompletionResultDetails
		want    string // empty: an error
	}{
		{mcp.CompletionResultDetails{}, `{"values":[]}`},
		{mcp.CompletionResultDetails{Total: -1}, `{"values":[]}`},
		{mcp.CompletionResultDetails{Values: slices.Repeat([]string{"v"}, 100)}, `{"values":` + hundred + `}`},
		{mcp.CompletionResultDetails{Values: slices.Repeat([]string{"v"}, 101)}, `{"hasMore":true,"total":101,"values":` + hundred + `}`},
		{mcp.CompletionResultDetails{Values: slices.Repeat([]string{"v"}, 101), Total: 500}, `{"hasMore":true,"total":500,"values":` + hundred + `}`},
		{mcp.CompletionResultDetails{Values: []string{strings.Repeat("v", 1024)}}, `{"values":["` + strings.Repeat("v", 1024) + `"]}`},
		{mcp.CompletionResultDetails{Values: []string{strings.Repeat("v", 1025)}}, ""},
	} {
		details = tc.details
		res := say(t, client, completing(client, "a"))
		if tc.want == "" {
			require.ErrorContains(t, res.Error, "is larger than the 1024 bytes this server sends.")
			continue
		}
		var got struct{ Completion json.RawMessage }
		require.NoError(t, json.Unmarshal(res.Result, &got))
		require.JSONEq(t, tc.want, string(got.Completion))
	}
}

// An item of a list that cannot be sent costs the others nothing, and is logged. Whatever
// stands beside the items, and a server's capabilities, cost the whole answer.
func TestResultsThatCannotBeSent(t *testing.T) {
	const lists = "tools/list prompts/list resources/list resources/templates/list"
	bad, panicking := mcp.Meta{"x": func() {}}, marshaler(func() ([]byte, error) { panic("s3cret") })
	adds := func(meta mcp.Meta) func(mcp.Result) {
		return func(r mcp.Result) {
			item := reflect.New(items(r).Type().Elem().Elem())
			item.Elem().Set(items(r).Index(0).Elem())
			item.Elem().FieldByName("Meta").Set(reflect.ValueOf(meta))
			items(r).Set(reflect.Append(items(r), item))
		}
	}
	set := func(field string, v any) func(mcp.Result) {
		return func(r mcp.Result) { reflect.ValueOf(r).Elem().FieldByName(field).Set(reflect.ValueOf(v)) }
	}
	capable := func(v any) func(mcp.Result) {
		return set("Capabilities", &mcp.ServerCapabilities{Experimental: map[string]any{"x": v}})
	}
	for _, tc := range []struct {
		methods string
		change  func(mcp.Result)
		fails   bool
		left    bool // out, one item
	}{
		{lists + " initialize server/discover", func(r mcp.Result) { r.SetMeta(bad) }, true, false},
		{lists, set("CacheScope", "galaxy"), true, false},
		{lists, func(r mcp.Result) { items(r).SetZero() }, false, false},
		{lists, func(r mcp.Result) {
			items(r).Set(reflect.Append(items(r), reflect.Zero(items(r).Type().Elem())))
		}, false, false},
		{lists, adds(bad), false, true},
		{lists, adds(mcp.Meta{"x": panicking}), false, true},
		{"initialize server/discover", capable(func() {}), true, false},
		{"initialize server/discover", capable(panicking), true, false},
		{"initialize server/discover", set("Capabilities", (*mcp.ServerCapabilities)(nil)), true, false},
		{"initialize server/discover", func(r mcp.Result) { capable(twice(`{}`))(r) }, false, false},
	} {
		for method := range strings.FieldsSeq(tc.methods) {
			var log journal
			s := everything(t, nil)
			around(s, func(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if err == nil {
					tc.change(res)
				}
				return res, err
			})
			request, era := wire.Request{Method: method}, judge.Modern
			if method == "initialize" {
				request.Params = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
				era = judge.Legacy
			}
			res := say(t, speak(t, judge.Modern, s, &boundary.Options{Logger: log.logger()}), request)
			_, err := specificationOf(t, method, era).Judge(res)
			require.NoError(t, err, method)
			require.Equal(t, tc.fails, res.Error != nil, "%s: %s %v", method, res.Result, res.Error)
			require.NotContains(t, fmt.Sprint(res.Error)+string(res.Result), "s3cret")
			if records := log.take(t); tc.left {
				require.Len(t, records, 1, method)
				require.Equal(t, "ERROR", records[0]["level"])
				require.Equal(t, 2, strings.Count(string(res.Result), `"name":`), "the other item's, and the server's own")
			}
		}
	}
}

// items are those of a list.
func items(r mcp.Result) reflect.Value {
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			return f
		}
	}
	panic("no list")
}
