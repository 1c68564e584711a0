package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A request of megabytes gets an answer of kilobytes, whatever is wrong with it.
func TestARequestIsNotAmplified(t *testing.T) {
	many := 10_000
	if thorough {
		many = 100_000
	}
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, outputs("fine"))
	s.AddTool(&mcp.Tool{Name: "list", InputSchema: json.RawMessage(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","pattern":"^a$","anyOf":[{"minLength":3}]}}}}`)}, returns(text("fine")))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, MaxResultBytes: 64 << 10}))
	client, shut, err := openMemory(t.Context(), judge.Modern, s)
	require.NoError(t, err)
	defer shut()
	var names, items bytes.Buffer
	for i := range many {
		fmt.Fprintf(&names, `"\u202e<<<<<<<<<<<<<<<<<<<<%d":1,`, i)
		items.WriteString(`"bbb",`)
	}
	for _, tc := range []struct{ explanation, tool, args string }{
		{"unknown names", "typed", `{` + names.String() + `"z":1}`},
		{"one name of megabytes", "typed", `{"` + strings.Repeat("<", 20*many) + `":1}`},
		{"wrong items", "list", `{"l":[` + items.String() + `"b"]}`},
		{"a tool's name of megabytes", strings.Repeat("\u2028", many), `{}`},
	} {
		res, err := client.Exchange(t.Context(), wire.Request{Name: tc.tool, Arguments: json.RawMessage(tc.args)})
		require.NoError(t, err, tc.explanation)
		_, err = judges()[atTool][judge.Modern].Judge(res)
		require.NoError(t, err, tc.explanation)
		require.Less(t, size(res), 70<<10, tc.explanation)
	}
}

// An error of the tool's own cannot carry megabytes past the limit either.
func TestAReportIsBounded(t *testing.T) {
	refused := &boundary.Validation{}
	for i := range 10_000 {
		refused.Fields = append(refused.Fields, boundary.FieldError{Pointer: fmt.Sprintf("/%d", i), Problem: strings.Repeat("x", 1000), Hint: strings.Repeat("y", 1000)})
	}
	long := strings.Repeat("z", 1<<20)
	s := newServer()
	addFailing(s, &mcp.Tool{Name: "fields"}, refused)
	addFailing(s, &mcp.Tool{Name: "names"}, &boundary.Selector{Kind: long, Selector: long, Candidates: []string{long}, Hints: []string{long}})
	session := connect(t, s, &boundary.Options{Logger: silent, MaxResultBytes: 64 << 10})
	for _, name := range []string{"fields", "names"} {
		res, report := callTool(t, session, name, nil)
		require.True(t, res.IsError)
		data := must(json.Marshal(report))(t)
		require.Less(t, len(data), 160<<10, name)
	}
}

// A log handler that hangs costs the calls a second in all, and the next record says
// how many were dropped.
func TestALoggerThatHangs(t *testing.T) {
	for _, where := range []string{"Enabled", "Handle"} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			stuck := &stuckHandler{Handler: slog.NewJSONHandler(&log, nil), where: where, let: make(chan struct{})}
			s := newServer()
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
			s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
			session := connect(t, s, &boundary.Options{Logger: slog.New(stuck)})
			begun := time.Now()
			for range 5 {
				res, _ := callTool(t, session, "t", nil)
				require.False(t, res.IsError)
				must(session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"}))(t)
			}
			require.LessOrEqual(t, time.Since(begun), time.Second)
			close(stuck.let)
			synctest.Wait()
			res, _ := callTool(t, session, "t", nil)
			require.False(t, res.IsError)
			records := log.records(t)
			require.EqualValues(t, 9, records[len(records)-1]["droppedRecords"])
		})
	}
}

// A logger that panics does not cost a call its answer.
func TestALoggerThatPanics(t *testing.T) {
	for _, where := range []string{"Enabled", "Handle"} {
		res, _ := callTool(t, serving(t, &boundary.Options{Logger: slog.New(&stuckHandler{Handler: slog.DiscardHandler, where: where})}, outputs("fine")), "t", nil)
		require.False(t, res.IsError)
	}
}

// stuckHandler hangs in one of its methods until let is closed, or panics there if it is nil.
type stuckHandler struct {
	slog.Handler
	where string
	let   chan struct{}
}

func (h *stuckHandler) Enabled(context.Context, slog.Level) bool { h.stick("Enabled"); return true }

func (h *stuckHandler) Handle(ctx context.Context, r slog.Record) error {
	h.stick("Handle")
	return h.Handler.Handle(ctx, r)
}

func (h *stuckHandler) stick(where string) {
	switch {
	case h.where != where:
	case h.let == nil:
		panic("boom")
	default:
		<-h.let
	}
}

// A legacy client is not shown an output schema that describes no object, for which a
// strict one refuses the whole list, and gets such an output as text.
func TestOutputsThatLegacyClientsDoNotKnow(t *testing.T) {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "array", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: json.RawMessage(`{"type":"array"}`)}, returns(&mcp.CallToolResult{StructuredContent: []int{1}}))
	s.AddTool(&mcp.Tool{Name: "object", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius}, returns(structured(map[string]any{"celsius": 1})))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	for _, tc := range []struct {
		version string
		shown   bool
	}{{"2025-11-25", false}, {"2026-07-28", true}} {
		session := asker(t, s, tc.version)
		list := must(session.ListTools(t.Context(), nil))(t)
		require.Len(t, list.Tools, 2)
		require.Equal(t, tc.shown, list.Tools[0].OutputSchema != nil, tc.version)
		require.NotNil(t, list.Tools[1].OutputSchema)
		res, _ := callTool(t, session, "array", nil)
		require.Equal(t, tc.shown, res.StructuredContent != nil)
		require.Equal(t, tc.shown, len(res.Content) == 0)
		if !tc.shown {
			require.Equal(t, []string{"[1]"}, texts(res))
		}
		res, _ = callTool(t, session, "object", nil)
		require.NotNil(t, res.StructuredContent)
	}
}

// Arguments that go-sdk cannot decode into the tool's types are refused like others:
// without their values or Go's names, and without an effect, for the tool did not run.
func TestArgumentsThatDoNotDecode(t *testing.T) {
	type numbers struct {
		At    time.Time `json:"at,omitzero"`
		Small int8      `json:"small,omitempty"`
		Big   int64     `json:"big,omitempty"`
		Count uint64    `json:"count,omitempty"`
		Ratio float32   `json:"ratio,omitempty"`
	}
	session := serving(t, nil, func(context.Context, *mcp.CallToolRequest, numbers) (*mcp.CallToolResult, any, error) {
		return text("fine"), nil, nil
	})
	for _, tc := range []struct{ args, want string }{
		{`{"at":"s3cret"}`, "/at must be a time such as 2006-01-02T15:04:05Z"},
		{`{"small":300}`, "/small must be at most 127"},
		{`{"big":1e30}`, "/big must be an integer from -9223372036854775808 to 9223372036854775807"},
		{`{"count":99999999999999999999}`, "/count must be an integer from 0 to 18446744073709551615"},
		{`{"ratio":1e300}`, "/ratio must be a number that is not so large"},
	} {
		res, report := callTool(t, session, "t", json.RawMessage(tc.args))
		require.True(t, res.IsError, tc.args)
		require.Equal(t, "validation", report.Type, tc.args)
		require.True(t, *report.Expected)
		require.Empty(t, report.Effect, tc.args)
		require.Len(t, report.Fields, 1)
		require.Equal(t, tc.want, report.Fields[0].Pointer+" "+report.Fields[0].Problem)
		for _, leak := range []string{"s3cret", "e+30", "int64", "time.Time", "numbers", "unmarshal"} {
			require.NotContains(t, strings.Join(texts(res), "\n"), leak)
		}
	}
	// An error of the tool's own that looks alike is its own.
	own := newServer()
	mcp.AddTool(own, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		type station struct{ Temperature int8 }
		var upstream station
		return nil, nil, json.Unmarshal([]byte(`{"Temperature":300}`), &upstream)
	})
	_, report := callTool(t, connect(t, own, nil), "t", map[string]any{"place": "Lisbon"})
	require.Equal(t, "execution", report.Type)
	require.Equal(t, "unknown", report.Effect)
}

// Middleware that refuses a call before the tool runs says so, and no effect is
// reported.
func TestARefusalOfMiddlewareHasNoEffect(t *testing.T) {
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				return nil, overloaded{errors.New("come back later")}
			}
			return next(ctx, method, req)
		}
	})
	_, report := callTool(t, connect(t, s, nil), "t", nil)
	require.Equal(t, "execution", report.Type)
	require.Empty(t, report.Effect)
}

type overloaded struct{ error }

func (overloaded) ToolErrorEffect() string { return "none" }

// go-sdk quotes an unknown URI in Go's way, which is not always JSON: the answer would
// be lost.
func TestAnUnknownURIOfAnyCharacters(t *testing.T) {
	s := newServer()
	s.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil })
	session := connect(t, s, nil)
	for _, uri := range []string{"test://\x1b", "test://\u200b", "test://" + strings.Repeat("é", 1<<20)} {
		_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		require.ErrorContains(t, err, "Resource not found")
	}
}
