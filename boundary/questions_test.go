package boundary_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/internal/misbehaving"
)

// asker connects a client that can be asked and leaves the rounds to the test.
func asker(t *testing.T, s *mcp.Server, version string) *mcp.ClientSession {
	t.Helper()
	there, here := mcp.NewInMemoryTransports()
	server, err := s.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}, nil
		}})
	session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { session.Close(); server.Wait() })
	return session
}

func askingServer() *mcp.Server {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "asks", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius}, returns(misbehaving.Asking()))
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
		res, err := asker(t, s, "2026-07-28").CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"})
		require.NoError(t, err)
		require.True(t, res.NeedsInput())
		data, err := json.Marshal(res)
		require.NoError(t, err)
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

// A result with neither questions nor a state would make the client repeat the same
// request.
func TestQuestionsThatAreNone(t *testing.T) {
	for _, tc := range []struct {
		explanation string
		res         mcp.CallToolResult
		asks        bool
	}{
		{"no question and no state", mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}, false},
		{"a nil question", mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": nil}}, false},
		{"a nil pointer to a form", mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": (*mcp.ElicitParams)(nil)}}, false},
		{"a nil pointer to a message", mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": (*mcp.CreateMessageParams)(nil)}, RequestState: "s"}, false},
		{"no question, but a state to come again with", mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "s"}, true},
	} {
		t.Run(tc.explanation, func(t *testing.T) {
			s := newServer()
			s.AddTool(&mcp.Tool{Name: "asks", InputSchema: &jsonschema.Schema{Type: "object"}}, returns(&tc.res))
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
			res, err := asker(t, s, "2026-07-28").CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"})
			require.NoError(t, err)
			require.Equal(t, tc.asks, res.NeedsInput())
			if report, ok := boundary.ReportOf(res); !tc.asks {
				require.True(t, ok)
				require.Equal(t, "malformed_result", report.Type)
			}
		})
	}
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
		wire, err := json.Marshal(res)
		require.NoError(t, err)
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
			server, err := misbehaving.Bounded(misbehaving.Cases(nil))
			require.NoError(t, err)
			res, _ := callTool(t, asker(t, server, "2025-11-25"), tc.name, nil)
			require.Equal(t, tc.want == nil, res.IsError, texts(res))
			if tc.want != nil {
				require.Equal(t, tc.want, texts(res))
			}
		})
	}
}
