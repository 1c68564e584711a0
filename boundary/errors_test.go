package boundary_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// Each error reaches the client with its text and report, and the log with its level and cause.
func TestErrorsOnTheWire(t *testing.T) {
	type report = boundary.Report
	hidden := errors.New("s3cret refused")
	writes := &mcp.ToolAnnotations{DestructiveHint: new(bool)}
	for _, tc := range []struct {
		explanation string
		err         error
		annotations *mcp.ToolAnnotations
		texts       []string
		report      report
		level       string
		cause       string // in the log alone
	}{
		{"nobody said that the agent could correct it, and the effect is open", errors.New("the station is closed"), writes,
			[]string{"the station is closed"}, report{Type: "execution", Expected: ref(false), Effect: "unknown"}, "ERROR", "the station is closed"},
		{"a read-only tool has no effect to tell of", errors.New("the station is closed"), &mcp.ToolAnnotations{ReadOnlyHint: true},
			[]string{"the station is closed"}, report{Type: "execution", Expected: ref(false)}, "ERROR", "the station is closed"},
		{"the cause stays on the server, even wrapped; the hint comes last",
			fmt.Errorf("while planning: %w", &boundary.Execution{Operation: "geocode", Err: hidden, Code: "E42", Expected: true, Hints: []string{"Try later."}}), nil,
			[]string{"while planning: geocode failed.", "Try later."}, report{Type: "execution", Code: "E42", Expected: ref(true), Operation: "geocode", Hints: []string{"Try later."}}, "WARN", ""},
		{"the cause reaches the log alone", &boundary.Execution{Operation: "geocode", Err: hidden}, nil,
			[]string{"geocode failed."}, report{Type: "execution", Expected: ref(false), Operation: "geocode", Effect: "unknown"}, "ERROR", "geocode failed.: s3cret refused"},
		{"an error may carry its own text for the log", fmt.Errorf("outer: %w", causal{}), nil,
			[]string{"outer: it failed"}, report{Type: "execution", Expected: ref(false), Effect: "unknown"}, "ERROR", "why s3cret failed"},
		{"an error that knows what it did says so", &boundary.Execution{Message: "Half of it was written.", Effect: "applied"}, nil,
			[]string{"Half of it was written."}, report{Type: "execution", Expected: ref(false), Effect: "applied"}, "ERROR", "Half of it was written."},
		{"an operation may have no name", &boundary.Execution{Expected: true}, nil, []string{"The tool failed."}, report{Type: "execution", Expected: ref(true)}, "WARN", ""},
		{"sorted, with a field's own hint",
			&boundary.Validation{Fields: []boundary.FieldError{{Pointer: "/z", Problem: "is late"}, {Problem: "are odd"}, {Pointer: "/a", Problem: "is early", Hint: "Wait."}}, Hints: []string{"Or not."}}, nil,
			[]string{"3 argument problems: the arguments are odd; /a is early; /z is late.", "Wait.\nOr not."}, report{Type: "validation", Expected: ref(true), Hints: []string{"Wait.", "Or not."},
				Fields: []boundary.FieldError{{Problem: "are odd"}, {Pointer: "/a", Problem: "is early", Hint: "Wait."}, {Pointer: "/z", Problem: "is late"}}}, "WARN", ""},
		{"the candidates and where to find more", &boundary.Selector{Kind: boundary.Ambiguous, Selector: "location", Candidates: []string{"Lisbon, Portugal", "Lisbon, Ohio"}, Tool: "list_places"}, nil,
			[]string{`"location" fits more than one. Candidates: Lisbon, Portugal; Lisbon, Ohio.`, `Call "list_places" for the valid values of "location".`},
			report{Type: "ambiguous", Expected: ref(true), Selector: "location", Candidates: []string{"Lisbon, Portugal", "Lisbon, Ohio"},
				Hints: []string{`Call "list_places" for the valid values of "location".`}}, "WARN", ""},
		{"no candidates", &boundary.Selector{Kind: boundary.InvalidFormat, Selector: "date"}, nil,
			[]string{`"date" has the wrong form.`}, report{Type: "invalid_format", Expected: ref(true), Selector: "date"}, "WARN", ""},
		{"a foreign error is understood by its methods, through wrapping and joining", errors.Join(fmt.Errorf("weather: %w", noPlace{})), nil,
			[]string{"weather: There is no such place.", "Use a full name."}, report{Type: "not_found", Expected: ref(true), Hints: []string{"Use a full name."}, Selector: "location", Candidates: []string{"Lisbon", "Tokyo"},
				Fields: []boundary.FieldError{{Pointer: "/location", Problem: "is not a known place"}}}, "WARN", ""},
		{"nobody's mistake, and no claim about effects", &declined{"units"}, nil, []string{`Stopped: "units" was declined.`}, report{Type: "declined", Expected: ref(true)}, "INFO", ""},
	} {
		var log journal
		s := newServer()
		addFailing(s, &mcp.Tool{Name: "t", Annotations: tc.annotations}, tc.err)
		res, got := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", nil)
		require.True(t, res.IsError, tc.explanation)
		require.Nil(t, res.StructuredContent)
		require.Equal(t, tc.texts, texts(res), tc.explanation)
		tc.report.Tool, tc.report.RequestID, tc.report.DurationMS = "t", got.RequestID, got.DurationMS
		require.Equal(t, tc.report, got, tc.explanation)
		record := log.records(t)[0]
		require.Equal(t, tc.level, record["level"], tc.explanation)
		require.Equal(t, got.RequestID, record["requestId"])
		require.Equal(t, tc.cause, fmt.Sprint(cmp.Or(record["cause"], any(""))), tc.explanation)
		require.NotContains(t, string(must(json.Marshal(res))(t)), "s3cret")
	}
}

func ref[T any](v T) *T { return &v }

type causal struct{}

func (causal) Error() string          { return "it failed" }
func (causal) ToolErrorCause() string { return "why s3cret failed" }

// A code that revision 2026-07-28 withdrew reaches no client of that revision. The
// client gets the error's text, and the log has the code.
func TestWithdrawnCodes(t *testing.T) {
	for _, code := range []int64{-32002, mcp.CodeURLElicitationRequired} {
		raised := &jsonrpc.Error{Code: code, Message: "Sign in first.", Data: json.RawMessage(`{"elicitations":[]}`)}
		var log journal
		s := newServer()
		addFailing(s, &mcp.Tool{Name: "t"}, raised)
		res, report := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", nil)
		require.True(t, res.IsError)
		require.Equal(t, "withdrawn_code", report.Type)
		require.Equal(t, []string{"Sign in first."}, texts(res))
		require.Equal(t, fmt.Sprintf("JSON-RPC error %d, which revision 2026-07-28 withdrew: Sign in first.", code), log.records(t)[0]["cause"])
		require.Equal(t, "ERROR", log.records(t)[0]["level"])

		_, err := asker(t, s, "2025-11-25").CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		var got *jsonrpc.Error
		require.ErrorAs(t, err, &got)
		require.Equal(t, raised, got)

		s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, raised })
		for version, want := range map[string]int64{"2025-11-25": code, "2026-07-28": jsonrpc.CodeInvalidParams} {
			_, err := asker(t, s, version).GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"})
			require.ErrorAs(t, err, &got)
			require.Equal(t, want, got.Code)
			require.Equal(t, raised.Message, got.Message)
		}
	}
}

func TestAPanicReachesTheLogWithItsStack(t *testing.T) {
	var log journal
	session := serving(t, &boundary.Options{Logger: log.logger()}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		panicHere()
		return nil, nil, nil
	})
	res, _ := callTool(t, session, "t", nil)
	require.NotContains(t, texts(res)[0], "boom")
	record := log.records(t)[0]
	require.Equal(t, "panic: boom", record["cause"])
	require.Contains(t, record["stack"], "panicHere")
}

func panicHere() { panic("boom") }

// Intended protocol errors go out byte for byte; only go-sdk's "unknown tool" gains
// suggestions in its data.
func TestProtocolErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want *jsonrpc.Error
	}{
		{"bad_state", badState, badState},
		{"capability", missingCapability, missingCapability},
		{"kept, and its cause for the log", fmt.Errorf("outer: %w", &boundary.Protocol{Code: -32000, Message: "busy", Data: json.RawMessage(`{"retry":1}`), Err: errors.New("queue full")}),
			&jsonrpc.Error{Code: -32000, Message: "busy", Data: json.RawMessage(`{"retry":1}`)}},
	} {
		var log journal
		s := newServer()
		addFailing(s, &mcp.Tool{Name: tc.name}, tc.err)
		_, err := connect(t, s, &boundary.Options{Logger: log.logger()}).CallTool(t.Context(), &mcp.CallToolParams{Name: tc.name})
		var got *jsonrpc.Error
		require.ErrorAs(t, err, &got, tc.name)
		require.Equal(t, tc.want, got, tc.name)
		record := log.records(t)[0]
		require.Equal(t, strings.Contains(tc.name, "cause"), record["cause"] == "queue full", tc.name)
		require.Equal(t, "WARN", record["level"])
		require.Contains(t, record["error"], tc.want.Message)
	}

	s := newServer()
	addFailing(s, &mcp.Tool{Name: "get_weather"}, nil)
	addFailing(s, &mcp.Tool{Name: "delete_all"}, nil)
	_, err := connect(t, s, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "getweather"})
	var got *jsonrpc.Error
	require.ErrorAs(t, err, &got)
	require.Equal(t, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `unknown tool "getweather"`, Data: json.RawMessage(`{"suggestions":["get_weather"]}`)}, got)
}

// A plain handler reports its effect by Applied.
func TestApplied(t *testing.T) {
	session := serving(t, nil, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		boundary.Applied(ctx)
		return nil, nil, noPlace{}
	})
	_, report := callTool(t, session, "t", nil)
	require.Equal(t, "applied", report.Effect)
}

// erring is a server on which everything fails alike, also in handlers of mrtr's and in a result
// that carries its error itself.
func erring(t *testing.T, fail func(context.Context) error) (*mcp.Server, []wire.Request) {
	t.Helper()
	s := everything(t, func(ctx context.Context) (*mcp.CompleteResult, error) { return nil, fail(ctx) }, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		return nil, nil, fail(ctx)
	})
	s.AddTool(&mcp.Tool{Name: "built", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{Meta: mcp.Meta{"a": 1}}
		res.SetError(fail(ctx))
		return res, nil
	})
	rt := must(mrtr.New(nil))(t)
	t.Cleanup(func() { rt.Close() })
	mcp.AddTool(s, &mcp.Tool{Name: "mrtr"}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, _ *mrtr.Call, _ input) (*mrtr.IncompleteResult, any, error) {
		return nil, nil, fail(ctx)
	}), nil))
	s.AddPrompt(&mcp.Prompt{Name: "mrtr"}, mrtr.Prompt(rt, mrtr.Native(func(ctx context.Context, _ *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return nil, nil, fail(ctx)
	}), nil))
	arguments := map[string]any{}
	return s, []wire.Request{{Name: "typed", Arguments: arguments}, {Name: "built", Arguments: arguments}, {Name: "mrtr", Arguments: arguments},
		{Method: "prompts/get", Name: "mrtr"}, {Method: "completion/complete"}}
}

// said makes the request and returns the text that the client reads.
func said(t *testing.T, client *wire.Client, r wire.Request) string {
	t.Helper()
	if r.Method == "completion/complete" {
		r = completing(client, "a")
	}
	res, err := client.Exchange(t.Context(), r)
	require.NoError(t, err)
	require.NotContains(t, string(res.Result)+fmt.Sprint(res.Error), "s3cret")
	var failed *jsonrpc.Error
	if errors.As(res.Error, &failed) {
		require.NotContains(t, string(failed.Data), "s3cret")
		return failed.Message
	}
	var result mcp.CallToolResult
	require.NoError(t, json.Unmarshal(res.Result, &result))
	require.True(t, result.IsError)
	require.Len(t, result.Content, 1)
	return texts(&result)[0]
}

// An error of a dependency is for the log, and a deadline reads the same, whether the handler heeded it or not, and in whatever words,
// unless they are for the client.
func TestADeadlineAlwaysReadsTheSame(t *testing.T) {
	waits := func(f func(error) error) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); return f(ctx.Err()) }
	}
	for way, tc := range map[string]struct {
		fail func(context.Context) error
		text string
	}{
		"deaf":      {func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Hour); return errors.New("s3cret") }, ""},
		"heeded":    {waits(func(err error) error { return err }), ""},
		"wrapped":   {waits(func(err error) error { return fmt.Errorf("s3cret: %w", err) }), ""},
		"forgotten": {waits(func(error) error { return errors.New("s3cret") }), ""},
		"cause":     {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, ""},
		"code": {waits(func(err error) error {
			return fmt.Errorf("%w: s3cret: %w", &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "no"}, err)
		}), ""},
		"network": {waits(func(error) error { return &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded} }), ""},
		"typed":   {waits(func(err error) error { return &boundary.Execution{Message: "The station is slow.", Err: err} }), "The station is slow."},
	} {
		for _, era := range eras {
			synctest.Test(t, func(t *testing.T) {
				s, requests := erring(t, tc.fail)
				require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deadline: time.Minute, LegacyDeadline: time.Minute}))
				client, shut, err := openMemory(t.Context(), era, s)
				require.NoError(t, err)
				for _, request := range requests {
					text := said(t, client, request)
					switch {
					case tc.text != "":
						require.Equal(t, tc.text, text, "%s, %s, %s", way, request, era)
					case way == "at once":
						require.Regexp(t, ourFault+"$", text, "%s, %s, %s", way, request, era)
					default:
						require.Regexp(t, ` did not finish within 1m0s\.$`, text, "%s, %s, %s", way, request, era)
					}
				}
				shut()
				time.Sleep(2 * time.Hour)
			})
		}
	}
}

// Where an effect is in doubt the client still reads not to call again.
func TestAdviceStandsBesideTheSentence(t *testing.T) {
	s := newServer()
	rt := must(mrtr.New(nil))(t)
	defer rt.Close()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, any, error) {
		_, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (int, error) {
			return 0, fmt.Errorf("s3cret: %w", io.ErrUnexpectedEOF)
		}, nil)
		return nil, nil, err
	}), nil))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	client := speak(t, judge.Modern, s)
	require.Equal(t, `Tool "t" failed because of a fault in the server. Whether "pay" was done is unknown: do not call the tool again without checking.`,
		said(t, client, wire.Request{Name: "t", Arguments: map[string]any{}}))
}

// A question of mrtr's whose code panics ends its call as any panic does, in both eras.
func TestAPanicInAQuestionIsForTheLog(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		var log journal
		s := newServer()
		rt := must(mrtr.New(nil))(t)
		defer rt.Close()
		mcp.AddTool(s, &mcp.Tool{Name: "t"}, mrtr.Tool(rt, linear.Resumable(func(ctx context.Context, c *mrtr.Call, _ input) (any, error) {
			return linear.Ask(ctx, c, mrtr.ElicitRaw("k", &mcp.ElicitParams{Message: "?", RequestedSchema: marshaler(func() ([]byte, error) { panic("s3cret") })}))
		}), nil))
		require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger()}))
		res, _ := callTool(t, asker(t, s, version), "t", nil)
		require.True(t, res.IsError)
		require.NotContains(t, string(must(json.Marshal(res))(t)), "s3cret")
		require.Contains(t, log.records(t)[0]["cause"], "s3cret")
	}
}

// One result may be returned by many calls at once. The race detector judges.
func TestAResultMayBeShared(t *testing.T) {
	tool := &mcp.CallToolResult{Content: append(make([]mcp.Content, 0, 4), &mcp.TextContent{Text: "a", Meta: mcp.Meta{"b": []int{1}}}), Meta: mcp.Meta{"a": []string{"b"}}}
	prompt := &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "a"}}}, Meta: mcp.Meta{"a": []string{"b"}}}
	resource := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "a", Meta: mcp.Meta{"b": []int{1}}}}, Meta: mcp.Meta{"a": []string{"b"}}}
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, boundary.Unshared(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return tool, nil }))
	s.AddPrompt(&mcp.Prompt{Name: "t"}, boundary.Unshared(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return prompt, nil }))
	s.AddResource(&mcp.Resource{Name: "t", URI: "t://t"}, boundary.Unshared(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return resource, nil }))
	mcp.AddTool(s, &mcp.Tool{Name: "handler"}, boundary.Handler(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, []int, error) {
		return tool, []int{1}, nil
	}, nil))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	for _, request := range []wire.Request{{Name: "t"}, {Name: "handler"}, {Method: "prompts/get", Name: "t"}, {Method: "resources/read", Name: "t://t"}} {
		for _, era := range eras {
			client, shut, err := openMemory(t.Context(), era, s)
			require.NoError(t, err)
			var all sync.WaitGroup
			for range 32 {
				all.Go(func() {
					res, err := client.Exchange(t.Context(), request)
					if err != nil || res.Error != nil || len(res.Result) == 0 {
						t.Errorf("%v: %v %v", request, err, res)
					}
				})
			}
			all.Wait()
			shut()
		}
	}
	require.Len(t, tool.Content, 1)
	require.Len(t, tool.Meta, 1, "go-sdk wrote to the author's own")
}
