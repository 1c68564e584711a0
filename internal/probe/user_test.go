package probe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/probe"
)

// A legacy probe is asked over its session, and follows as many rounds as a call takes.
func TestALegacyProbeAnswersQuestions(t *testing.T) {
	form := &mcp.ElicitParams{Message: "Which?", RequestedSchema: &jsonschema.Schema{
		Type: "object", Required: []string{"unit"},
		Properties: map[string]*jsonschema.Schema{"unit": {Type: "string", Enum: []any{"metric", "imperial"}}},
	}}
	for _, tc := range []struct {
		explanation string
		questions   int
		ask         func(ctx context.Context, s *mcp.ServerSession) error
		fault       string
		unproved    string
	}{
		{"three rounds", 3, func(ctx context.Context, s *mcp.ServerSession) error {
			res, err := s.Elicit(ctx, form)
			if err == nil && (res.Action != "accept" || res.Content["unit"] != "metric") {
				t.Errorf("answered with %v", res)
			}
			return err
		}, "", ""},
		{"without end", 1000, func(ctx context.Context, s *mcp.ServerSession) error {
			_, err := s.Elicit(ctx, form)
			return err
		}, "it asks more than 100 questions in one call", ""},
		{"what was not declared", 1, func(ctx context.Context, s *mcp.ServerSession) error {
			_, err := s.ListRoots(ctx, nil)
			return err
		}, `the question "roots/list": it asks for what the client did not declare`, ""},
	} {
		t.Run(tc.explanation, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "asks", Annotations: readOnly}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				for range tc.questions {
					if err := tc.ask(ctx, req.Session); err != nil {
						return nil, nil, err
					}
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
			})
			front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
			defer front.Close()
			defer front.CloseClientConnections()
			report, err := probe.Probe(t.Context(), probe.HTTP(front.URL, nil), probe.Legacy, &probe.Options{Patience: 10 * time.Second})
			require.NoError(t, err)
			good := 0
			for _, f := range report.Findings {
				if f.Tool == "asks" && f.Rule == "good_input" {
					good++
					require.Equal(t, tc.fault, f.Fault)
					require.Equal(t, tc.unproved, f.Unproved)
				}
			}
			require.Equal(t, 1, good)
		})
	}
}
