package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// declined implements the methods as a package that does not import boundary.
type declined struct{ key string }

func (d *declined) Error() string           { return fmt.Sprintf("Stopped: %q was declined.", d.key) }
func (d *declined) ToolErrorType() string   { return "declined" }
func (d *declined) ToolErrorExpected() bool { return true }
func (d *declined) ToolErrorQuiet() bool    { return true }

type noPlace struct{}

func (noPlace) Error() string           { return "There is no such place." }
func (noPlace) ToolErrorType() string   { return "not_found" }
func (noPlace) ToolErrorExpected() bool { return true }
func (noPlace) ToolErrorHints() []string {
	return []string{"Use a full name."}
}
func (noPlace) ToolErrorSelector() (string, []string) { return "location", []string{"Lisbon", "Tokyo"} }
func (noPlace) ToolErrorFields() map[string][]string {
	return map[string][]string{"/location": {"is not a known place"}}
}

func TestErrorsOnTheWire(t *testing.T) {
	writes := &mcp.ToolAnnotations{DestructiveHint: new(bool)}
	for _, tc := range []struct {
		name        string
		explanation string
		err         error
		annotations *mcp.ToolAnnotations
		texts       []string
		report      boundary.Report
		level       string
		cause       string // in the log alone
	}{
		{
			name: "plain", explanation: "the text as raised; nobody said the agent could correct it, and the effect is open",
			err: errors.New("the station is closed"), annotations: writes,
			texts: []string{"the station is closed"}, report: boundary.Report{Type: "execution", Expected: ref(false), Effect: "unknown"}, level: "ERROR",
		},
		{
			name: "plain_readonly", explanation: "a read-only tool has no effect to tell of",
			err: errors.New("the station is closed"), annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			texts: []string{"the station is closed"}, report: boundary.Report{Type: "execution", Expected: ref(false)}, level: "ERROR",
		},
		{
			name: "execution", explanation: "the cause stays on the server, even wrapped; the hint comes last",
			err: fmt.Errorf("while planning: %w", &boundary.Execution{Operation: "geocode", Err: errors.New("password=hunter2"), Code: "E42",
				Expected: true, Hints: []string{"Try later."}}),
			texts:  []string{"while planning: geocode failed.", "Try later."},
			report: boundary.Report{Type: "execution", Code: "E42", Expected: ref(true), Operation: "geocode", Hints: []string{"Try later."}}, level: "WARN",
		},
		{
			name: "cause", explanation: "the cause reaches the log alone", err: &boundary.Execution{Operation: "geocode", Err: errors.New("hunter2 refused")}, texts: []string{"geocode failed."},
			report: boundary.Report{Type: "execution", Expected: ref(false), Operation: "geocode", Effect: "unknown"}, level: "ERROR", cause: "geocode failed.: hunter2 refused",
		},
		{
			name: "causal", explanation: "an error may carry its own text for the log, such as the stack of a panic that it recovered",
			err: fmt.Errorf("outer: %w", causal{}), texts: []string{"outer: it failed"},
			report: boundary.Report{Type: "execution", Expected: ref(false), Effect: "unknown"}, level: "ERROR", cause: "why hunter2 failed",
		},
		{
			name: "effect", explanation: "an error that knows what it did says so",
			err:   &boundary.Execution{Message: "Half of it was written.", Effect: "applied"},
			texts: []string{"Half of it was written."}, report: boundary.Report{Type: "execution", Expected: ref(false), Effect: "applied"}, level: "ERROR",
		},
		{
			name: "validation", explanation: "sorted, with a field's own hint",
			err:   &boundary.Validation{Fields: []boundary.FieldError{{Pointer: "/z", Problem: "is late"}, {Pointer: "/a", Problem: "is early", Hint: "Wait."}}},
			texts: []string{"2 argument problems: /a is early; /z is late.", "Wait."},
			report: boundary.Report{Type: "validation", Expected: ref(true), Hints: []string{"Wait."},
				Fields: []boundary.FieldError{{Pointer: "/a", Problem: "is early", Hint: "Wait."}, {Pointer: "/z", Problem: "is late"}}}, level: "WARN",
		},
		{
			name: "selector", explanation: "the candidates and where to find more",
			err:   &boundary.Selector{Kind: boundary.Ambiguous, Selector: "location", Candidates: []string{"Springfield, Illinois", "Springfield, Missouri"}, Tool: "list_places"},
			texts: []string{`"location" fits more than one. Candidates: Springfield, Illinois; Springfield, Missouri.`, `Call "list_places" for the valid values of "location".`},
			report: boundary.Report{Type: "ambiguous", Expected: ref(true), Selector: "location", Candidates: []string{"Springfield, Illinois", "Springfield, Missouri"},
				Hints: []string{`Call "list_places" for the valid values of "location".`}}, level: "WARN",
		},
		{
			name: "foreign", explanation: "a foreign error is understood by its methods, through wrapping and joining",
			err:   errors.Join(fmt.Errorf("weather: %w", noPlace{})),
			texts: []string{"weather: There is no such place.", "Use a full name."},
			report: boundary.Report{Type: "not_found", Expected: ref(true), Hints: []string{"Use a full name."}, Selector: "location", Candidates: []string{"Lisbon", "Tokyo"},
				Fields: []boundary.FieldError{{Pointer: "/location", Problem: "is not a known place"}}}, level: "WARN",
		},
		{
			name: "declined", explanation: "nobody's mistake, and no claim about effects",
			err: &declined{"units"}, texts: []string{`Stopped: "units" was declined.`}, report: boundary.Report{Type: "declined", Expected: ref(true)}, level: "INFO",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log journal
			s := newServer()
			addFailing(s, &mcp.Tool{Name: tc.name, Annotations: tc.annotations}, tc.err)
			res, report := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), tc.name, nil)

			require.True(t, res.IsError, tc.explanation)
			require.Nil(t, res.StructuredContent)
			require.Equal(t, tc.texts, texts(res), tc.explanation)
			tc.report.Tool, tc.report.RequestID, tc.report.DurationMS = report.Tool, report.RequestID, report.DurationMS
			require.Equal(t, tc.report, report, tc.explanation)

			records := log.records(t)
			require.Len(t, records, 1)
			require.Equal(t, tc.level, records[0]["level"], tc.explanation)
			require.Equal(t, report.RequestID, records[0]["requestId"])
			if tc.cause != "" {
				require.Equal(t, tc.cause, records[0]["cause"], tc.explanation)
			}
			wire := must(json.Marshal(res))(t)
			require.NotContains(t, string(wire), "hunter2")
		})
	}
}

func ref[T any](v T) *T { return &v }

type causal struct{}

func (causal) Error() string          { return "it failed" }
func (causal) ToolErrorCause() string { return "why hunter2 failed" }

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
		require.Equal(t, strings.Contains(tc.name, "cause"), log.records(t)[0]["cause"] == "queue full", tc.name)
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
