package boundary_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
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
		record := log.take(t)[0]
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

// Intended protocol errors go out byte for byte; only go-sdk's "unknown tool" gains
// suggestions in its data.
func TestProtocolErrors(t *testing.T) {
	var log journal
	s := newServer()
	data := json.RawMessage(`{"requiredCapabilities":{"elicitation":{}}}`)
	bare := &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "missing capability", Data: data}
	addFailing(s, &mcp.Tool{Name: "bare"}, bare)
	addFailing(s, &mcp.Tool{Name: "wrapped"}, fmt.Errorf("outer: %w", &boundary.Protocol{Code: -32000, Message: "busy", Data: data, Err: errors.New("queue full")}))
	session := connect(t, s, &boundary.Options{Logger: log.logger()})
	for _, tc := range []struct {
		tool  string
		want  *jsonrpc.Error
		cause any // in the log
	}{
		{"bare", bare, nil},
		{"wrapped", &jsonrpc.Error{Code: -32000, Message: "busy", Data: data}, "queue full"},
		{"wraped", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `unknown tool "wraped"`, Data: json.RawMessage(`{"suggestions":["wrapped"]}`)}, nil},
	} {
		require.Equal(t, string(must(json.Marshal(tc.want))(t)), refusal(t, session, tc.tool))
		record := log.take(t)[0]
		require.Equal(t, []any{"WARN", tc.cause}, []any{record["level"], record["cause"]})
		require.Contains(t, record["error"], tc.want.Message)
	}
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

// A code that revision 2026-07-28 withdrew reaches no client of that revision. It gets the
// error's text, and the log has the code.
func TestWithdrawnCodes(t *testing.T) {
	for _, code := range []int64{-32002, mcp.CodeURLElicitationRequired} {
		raised := &jsonrpc.Error{Code: code, Message: "Sign in first.", Data: json.RawMessage(`{"elicitations":[]}`)}
		var log journal
		s := newServer()
		addFailing(s, &mcp.Tool{Name: "t"}, raised)
		s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, raised })
		session := connect(t, s, &boundary.Options{Logger: log.logger()})
		res, report := callTool(t, session, "t", nil)
		require.Equal(t, "withdrawn_code", report.Type)
		require.Equal(t, []string{"Sign in first."}, texts(res))
		require.Contains(t, log.take(t)[0]["cause"], fmt.Sprintf("JSON-RPC error %d, which revision 2026-07-28 withdrew", code))
		var got *jsonrpc.Error
		_, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"})
		require.ErrorAs(t, err, &got)
		require.Equal(t, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: raised.Message, Data: raised.Data}, got)
		_, err = asker(t, s, "2025-11-25").CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		require.ErrorAs(t, err, &got)
		require.Equal(t, raised, got)
	}
}

// A deadline reads the same, whether the handler heeded it or not and in whatever words, unless
// they are for the client.
func TestADeadlineAlwaysReadsTheSame(t *testing.T) {
	for way, words := range map[string]func(error) error{
		"deaf":      func(error) error { time.Sleep(time.Hour); return errors.New("late") },
		"heeded":    func(err error) error { return err },
		"wrapped":   func(err error) error { return fmt.Errorf("s3cret: %w", err) },
		"forgotten": func(error) error { return errors.New("s3cret") },
		"code": func(err error) error {
			return fmt.Errorf("%w: %w", &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "no"}, err)
		},
		"network": func(error) error { return &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded} },
		"typed":   func(err error) error { return &boundary.Execution{Message: "The station is slow.", Err: err} },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			for name, meta := range map[string]mcp.Meta{"plain": nil, "built": {"a": 1}} { // which go-sdk, and the author, make of the error
				addRaw(s, name, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					<-ctx.Done()
					res := &mcp.CallToolResult{Meta: meta}
					res.SetError(words(context.Cause(ctx)))
					return res, nil
				})
			}
			session := connect(t, s, &boundary.Options{Logger: silent, Deadline: time.Minute})
			for _, name := range []string{"plain", "built"} {
				res, report := callTool(t, session, name, nil)
				if way == "typed" {
					require.Equal(t, []string{"The station is slow."}, texts(res))
					continue
				}
				require.Equal(t, []string{fmt.Sprintf("Tool %q did not finish within 1m0s.", name)}, texts(res), way)
				require.Equal(t, "timeout", report.Type, way)
			}
			time.Sleep(time.Hour)
		})
	}
}

// A result that a handler returns to many calls stays as it is.
func TestAResultMayBeShared(t *testing.T) {
	shared := &mcp.CallToolResult{Content: append(make([]mcp.Content, 0, 4), &mcp.TextContent{Text: "a"}), Meta: mcp.Meta{"a": []string{"b"}}}
	s := newServer()
	addRaw(s, "raw", boundary.Unshared(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return shared, nil }))
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, boundary.Handler(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, []int, error) {
		return shared, []int{1}, nil
	}, nil))
	session := connect(t, s, nil)
	for _, name := range []string{"raw", "typed", "raw"} {
		callTool(t, session, name, nil)
		require.Equal(t, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a"}}, Meta: mcp.Meta{"a": []string{"b"}}}, shared)
	}
}
