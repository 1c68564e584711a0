package probe_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
)

type forecast struct {
	Place string `json:"place"`
	Days  int    `json:"days,omitempty"`
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// misbehaving breaks a rule in each of its read-only tools, and would do harm in
// the one that is not.
func misbehaving(t *testing.T) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	raw := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"place": {Type: "string"}}, Required: []string{"place"}}
	mcp.AddTool(s, &mcp.Tool{Name: "echoes", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
		return nil, map[string]any{"ok": true}, nil
	})
	s.AddTool(&mcp.Tool{Name: "careless", Annotations: readOnly, InputSchema: raw}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	s.AddTool(&mcp.Tool{Name: "codeless", Annotations: readOnly, InputSchema: raw}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("no")
	})
	s.AddTool(&mcp.Tool{Name: "silent", Annotations: readOnly, InputSchema: raw}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "deletes"}, func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
		t.Error("a tool that is not read-only was called")
		return nil, nil, nil
	})
	return s
}

func clients(t *testing.T, server *mcp.Server, era probe.Era) map[string]*wire.Client {
	memory, err := wire.Connect(t.Context(), server, probe.As(era))
	require.NoError(t, err)
	front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: era == probe.Modern}))
	web, err := probe.Dial(t.Context(), front.URL, era)
	require.NoError(t, err)
	t.Cleanup(func() { memory.Close(); web.Close(); front.CloseClientConnections(); front.Close() })
	return map[string]*wire.Client{"memory": memory, "http": web}
}

func faults(r *probe.Report) map[string]bool {
	broken := map[string]bool{}
	for _, f := range r.Findings {
		if f.Fault != "" {
			broken[f.Tool+" "+f.Rule] = true
		}
	}
	return broken
}

func TestFindsWhatABareServerBreaks(t *testing.T) {
	for _, era := range []probe.Era{probe.Modern, probe.Legacy} {
		for name, client := range clients(t, misbehaving(t), era) {
			t.Run(name+"/"+string(era), func(t *testing.T) {
				t.Parallel() // they mostly wait for answers that never come
				report, err := probe.Run(t.Context(), client, &probe.Options{Patience: 300 * time.Millisecond})
				require.NoError(t, err)
				require.Equal(t, []string{"deletes"}, report.Skipped)
				broken := faults(report)
				for _, want := range []string{
					"echoes wrong_type", "careless missing_argument", "careless wrong_type",
					"careless not_an_object", "codeless good_input", "silent good_input",
				} {
					require.True(t, broken[want], "%s\n%s", want, report)
				}
				require.Equal(t, len(broken), report.Faults())
			})
		}
	}
}

func TestABoundaryKeepsEveryRule(t *testing.T) {
	for _, era := range []probe.Era{probe.Modern, probe.Legacy} {
		server := misbehaving(t)
		require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
		for name, client := range clients(t, server, era) {
			report, err := probe.Run(t.Context(), client, nil)
			require.NoError(t, err)
			require.NotEmpty(t, report.Findings)
			require.Zero(t, report.Faults(), "%s %s\n%s", name, era, report)
		}
	}
}

func TestCannotProbe(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "deletes"}, func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	for _, client := range clients(t, s, probe.Modern) {
		_, err := probe.Run(t.Context(), client, nil)
		require.ErrorContains(t, err, "none of the server's 1 tools is annotated read-only")
	}
	_, err := probe.Dial(t.Context(), " ", probe.Modern)
	require.ErrorContains(t, err, "a URL or a command")
}

func TestRulesAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range probe.Rules() {
		require.False(t, seen[r[0]])
		require.NotEmpty(t, r[1])
		seen[r[0]] = true
	}
	require.GreaterOrEqual(t, len(seen), 8)
}
