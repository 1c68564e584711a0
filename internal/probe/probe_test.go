package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
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
	web, err := probe.HTTP(front.URL, nil)(t.Context(), probe.As(era))
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
				report, err := probe.Run(t.Context(), client, &probe.Options{Patience: time.Second})
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
}

// picky is a server whose one tool takes a place that it knows and no other, and
// asks for the units where ask is set.
func picky(schema string, ask bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "picky", Annotations: readOnly, InputSchema: json.RawMessage(schema)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Place string }
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil || args.Place != "Lisbon" {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such place"}}}, nil
		}
		answer, _ := req.Params.InputResponses["units"].(*mcp.ElicitResult)
		if ask && answer == nil {
			return &mcp.CallToolResult{RequestState: "asked", InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{
				Message: "Which units?", RequestedSchema: json.RawMessage(`{"type":"object","required":["units"],"properties":{"units":{"type":"string","enum":["metric"]}}}`),
			}}}, nil
		}
		if ask && (req.Params.RequestState != "asked" || answer.Content["units"] != "metric") {
			return nil, errors.New("another answer")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
	})
	return s
}

// A call that should work and ends in an error proves nothing. The user's
// arguments and the schema's examples make it work, and its questions are
// answered.
func TestWhatIsProvedByGoodInput(t *testing.T) {
	const plain = `{"type":"object","required":["place"],"properties":{"place":{"type":"string"}}}`
	lisbon := map[string]map[string]any{"picky": {"place": "Lisbon"}}
	for _, tc := range []struct {
		explanation string
		schema      string
		ask         bool
		arguments   map[string]map[string]any
		result      string
		unproved    string
	}{
		{"made up from the schema", plain, false, nil, "error", "no such place"},
		{"given by the user", plain, false, lisbon, "complete", ""},
		{"for another tool", plain, false, map[string]map[string]any{"other": {"place": "Lisbon"}}, "error", "no such place"},
		{"an example of the property", strings.Replace(plain, `"string"`, `"string","examples":["Lisbon"]`, 1), false, nil, "complete", ""},
		{"an example of the whole", strings.Replace(plain, `"object"`, `"object","examples":[{"place":"Lisbon"}]`, 1), false, nil, "complete", ""},
		{"the user's before the example", strings.Replace(plain, `"object"`, `"object","examples":[{"place":"Paris"}]`, 1), false, lisbon, "complete", ""},
		{"after a round of questions", plain, true, lisbon, "complete", ""},
	} {
		for name, client := range clients(t, picky(tc.schema, tc.ask), probe.Modern) {
			report, err := probe.Run(t.Context(), client, &probe.Options{Arguments: tc.arguments})
			require.NoError(t, err)
			good := report.Findings[0]
			require.Equal(t, "good_input", good.Rule)
			require.Empty(t, good.Fault, "%s, %s", tc.explanation, name)
			require.Equal(t, tc.result, good.Result, "%s, %s", tc.explanation, name)
			if tc.unproved == "" {
				require.Empty(t, good.Unproved, "%s, %s", tc.explanation, name)
				require.Zero(t, report.Unproved())
			} else {
				require.Contains(t, good.Unproved, tc.unproved, "%s, %s", tc.explanation, name)
				require.Equal(t, 1, report.Unproved())
				require.Contains(t, report.String(), "not proved: ")
			}
		}
	}
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
