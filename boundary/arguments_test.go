package boundary_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// The findings are those of package toolschema, whose tests have the keywords. The
// result and its report say all of them, and never a value.
func TestArguments(t *testing.T) {
	s := newServer()
	for name, schema := range map[string]string{
		"trip":    `{"type":"object","required":["place","days"],"properties":{"place":{"type":"string","pattern":"^[A-Z]"},"days":{"type":"integer","maximum":7}}}`,
		"dialect": `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"string"}}}`,
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, returns(text("fine")))
	}
	session := connect(t, s, nil)
	for _, tc := range []struct {
		tool, args string
		want       []string // "pointer problem"; empty if accepted
		hint       string
	}{
		{tool: "trip", args: `{"place":"Lisbon","days":2}`},
		{tool: "trip", args: `{}`, want: []string{"/days is required", "/place is required"}},
		{tool: "trip", args: `{"place":"s3cret","days":99}`, want: []string{"/days must be at most 7", "/place must match the pattern ^[A-Z]"}},
		{tool: "trip", args: `{"plaec":"s3cret","place":"Lisbon","days":1}`, want: []string{"/plaec is not an argument of this tool, though Some Agent 1 sent it"}, hint: `Did you mean "place"? Valid arguments: days, place.`},
		{tool: "trip", args: `"s3cret"`, want: []string{" must be a JSON object"}},
		{tool: "dialect", args: `{"a":1}`}, // a schema that cannot be judged by
	} {
		res, report := callTool(t, session, tc.tool, json.RawMessage(tc.args))
		require.Equal(t, len(tc.want) > 0, res.IsError, tc.args)
		if !res.IsError {
			continue
		}
		var got []string
		for _, f := range report.Fields {
			got = append(got, f.Pointer+" "+f.Problem)
		}
		require.Equal(t, tc.want, got)
		require.Equal(t, "validation", report.Type)
		require.Empty(t, report.Effect)
		require.NotContains(t, strings.Join(texts(res), "\n"), "s3cret")
		if tc.hint != "" {
			require.Equal(t, []string{tc.hint}, report.Hints)
			require.Equal(t, tc.hint, texts(res)[len(res.Content)-1])
		}
	}
}

// Tools added after Install, and tools replaced under their name, are judged by
// their current definition: a remembered one never refuses a call.
func TestToolsChange(t *testing.T) {
	s := newServer()
	session := connect(t, s, nil)
	add := func(schema string) {
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, returns(text("fine")))
	}
	add(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	res, _ := callTool(t, session, "t", map[string]any{"a": "x"})
	require.False(t, res.IsError)
	add(`{"type":"object","properties":{"a":{"type":"integer"},"b":{}}}`)
	res, _ = callTool(t, session, "t", map[string]any{"a": 1, "b": 2})
	require.False(t, res.IsError, "judged by the schema of a tool that is gone")
	res, _ = callTool(t, session, "t", map[string]any{"a": "x"})
	require.True(t, res.IsError)
}

// The boundary rebuilds results field by field, so a field that go-sdk adds needs a
// look.
func TestResultHasTheKnownFields(t *testing.T) {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[mcp.CallToolResult]()) {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	require.ElementsMatch(t, []string{"Meta", "Content", "StructuredContent", "IsError", "InputRequests", "RequestState"}, names)
}

// asker connects a client that can be asked and leaves the rounds to the test.
func asker(t *testing.T, s *mcp.Server, version string) *mcp.ClientSession {
	t.Helper()
	return dialAs(t, s, "c", version, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}, nil
		}})
}

func askingServer() *mcp.Server {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "asks", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius}, returns(asking()))
	return s
}

// An input_required result is byte for byte the same as without a boundary: not
// limited, not checked by the output schema, without a report.
func TestQuestionsPassUntouched(t *testing.T) {
	var wire []string
	for _, bounded := range []bool{false, true} {
		s := askingServer()
		if bounded {
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
		}
		res := must(asker(t, s, "2026-07-28").CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"}))(t)
		require.True(t, res.NeedsInput())
		data := must(json.Marshal(res))(t)
		wire = append(wire, string(data))
	}
	require.Equal(t, wire[0], wire[1])
}

// go-sdk asks a legacy client once. It would send the tool's next question unstamped,
// and the client would read it as an empty success.
func TestAQuestionTooManyForALegacyClient(t *testing.T) {
	s := askingServer()
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	res, report := callTool(t, asker(t, s, "2025-11-25"), "asks", nil)
	require.True(t, res.IsError)
	require.Equal(t, "input_unsupported", report.Type)
	require.Nil(t, res.InputRequests)
}

// A result carries resultType if the session or the request itself is modern, and
// not otherwise.
func TestResultTypeFollowsTheRequest(t *testing.T) {
	for _, tc := range []struct {
		explanation, session, request string
		want                          bool
	}{
		{"a modern session", "2026-07-28", "", true},
		{"a legacy session", "2025-11-25", "", false},
		{"a modern request in a legacy session", "2025-11-25", "2026-07-28", true},
	} {
		s := newServer()
		mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
		require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
		params := &mcp.CallToolParams{Name: "t"}
		if tc.request != "" {
			params.Meta = mcp.Meta{
				mcp.MetaKeyProtocolVersion:    tc.request,
				mcp.MetaKeyClientInfo:         map[string]any{"name": "c", "version": "1"},
				mcp.MetaKeyClientCapabilities: map[string]any{},
			}
		}
		res, err := asker(t, s, tc.session).CallTool(t.Context(), params)
		require.NoError(t, err, tc.explanation)
		wire := must(json.Marshal(res))(t)
		require.Equal(t, tc.want, strings.Contains(string(wire), `"resultType":"complete"`), tc.explanation)
	}
}

// go-sdk asks a legacy client from a goroutine of its own and encodes the schema again
// after the answer, where a panic would end the process.
func TestSettledQuestionsRunNoCode(t *testing.T) {
	for _, tc := range []struct {
		name string
		want []string // of the answer; nil for an error
	}{
		{"twice_question", []string{"answered"}},
		{"twice_question_meta", []string{"answered"}},
		{"form_none", []string{"answered"}},
		{"form_panics", nil},
		{"form_not_utf8", nil},
		{"question_mode", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := must(boundedServer(badCases(nil)))(t)
			res, _ := callTool(t, asker(t, server, "2025-11-25"), tc.name, nil)
			require.Equal(t, tc.want == nil, res.IsError, texts(res))
			if tc.want != nil {
				require.Equal(t, tc.want, texts(res))
			}
		})
	}
}
