package prove_test

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
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/prove"
)

func TestEveryRuleHasItsNameAndPromise(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range allRules() {
		require.False(t, seen[r.Name], r.Name)
		seen[r.Name] = true
		require.NotEmpty(t, r.Says, r.Name)
		require.NotEmpty(t, r.Level, r.Name)
	}
}

// A sweep asks for no tool by name, and reports each of them as both clients.
func TestASweepReportsEachToolAsBothClients(t *testing.T) {
	const tools = `[{"name":"reads","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},"annotations":{"readOnlyHint":true}},{"name":"writes","inputSchema":{"type":"object"}}]`
	synctest.Test(t, func(t *testing.T) {
		var progress int
		dial := dialPipes(t, hostile{tools: tools, asks: plainReply})
		reports := must(prove.Sweep(t.Context(), dial, nil, &prove.SweepOptions{Progress: func(prove.Finding) { progress++ }}))(t)
		outcomes := map[string]prove.Outcome{}
		found := 0
		for _, r := range reports {
			for _, f := range r.Findings {
				outcomes[r.Client+" "+r.Tool+" "+f.Rule.Name] = f.Outcome
				if f.Rule.Name != "sweep/read-only" {
					found++
				}
			}
		}
		require.Equal(t, found, progress)
		require.Equal(t, map[string]prove.Outcome{
			"modern reads sweep/good-input": prove.Pass, "modern reads sweep/bad-input": prove.Fail,
			"modern writes sweep/read-only": prove.Skip, "modern  sweep/unknown-tool": prove.Fail, "modern  sweep/one-answer": prove.Pass,
			"legacy  sweep/initialize": prove.Skip, // it knows no such method, and says so
		}, outcomes)
	})
	_, err := prove.Sweep(t.Context(), prove.HTTP("http://127.0.0.1:1", nil), nil, nil)
	require.ErrorContains(t, err, "modern client: ")
	require.ErrorContains(t, err, "legacy client: ")
	_, err = prove.Sweep(t.Context(), prove.HTTP("http://127.0.0.1:1", nil), nil, &prove.SweepOptions{Clients: []string{"new"}})
	require.ErrorContains(t, err, `there is no client "new"`)
}

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

// dials are ways to a server: in memory and over HTTP, in each era as go-sdk serves it.
func dials(t *testing.T, server *mcp.Server, client string) map[string]prove.Dial {
	overHTTP := dialPipes(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: client == "modern"}))
	t.Cleanup(func() { // before the pipes are closed
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return map[string]prove.Dial{
		"memory": func(ctx context.Context, _ *prove.Caller) (*prove.Endpoint, error) {
			there, here := mcp.NewInMemoryTransports()
			_, err := server.Connect(context.WithoutCancel(ctx), there, nil)
			return &prove.Endpoint{Transport: here}, err
		},
		"http": overHTTP,
	}
}

// sweep is a sweep as one client.
func sweep(t *testing.T, dial prove.Dial, client string, o prove.SweepOptions) prove.Reports {
	t.Helper()
	o.Clients = []string{client}
	return must(prove.Sweep(t.Context(), dial, nil, &o))(t)
}

func TestFindsWhatABareServerBreaks(t *testing.T) {
	for _, client := range []string{"modern", "legacy"} {
		synctest.Test(t, func(t *testing.T) { // for answers that never come
			for name, dial := range dials(t, misbehaving(t), client) {
				reports := sweep(t, dial, client, prove.SweepOptions{Patience: time.Second})
				broken := map[string]bool{}
				for _, r := range reports {
					if r.Tool == "deletes" {
						require.Len(t, r.Findings, 1)
						require.Equal(t, "sweep/read-only", r.Findings[0].Rule.Name)
					}
					for _, f := range r.Failures(prove.Ours) {
						broken[r.Tool+" "+f.Rule.Name] = true
					}
				}
				for _, want := range []string{
					"careless sweep/bad-input", "codeless sweep/good-input", "silent sweep/good-input",
				} {
					require.True(t, broken[want], "%s as %s client: %s\n%s", name, client, want, reports)
				}
				require.Equal(t, len(broken), reports.Count(prove.Fail))
			}
		})
	}
}

func TestABoundaryKeepsEveryRule(t *testing.T) {
	for _, client := range []string{"modern", "legacy"} {
		server := misbehaving(t)
		require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
		for name, dial := range dials(t, server, client) {
			reports := sweep(t, dial, client, prove.SweepOptions{})
			require.NotEmpty(t, reports)
			require.Zero(t, reports.Count(prove.Fail), "%s %s\n%s", name, client, reports)
		}
	}
}

func TestWithoutAReadOnlyToolNothingIsSwept(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "deletes"}, func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	for _, dial := range dials(t, s, "modern") {
		_, err := prove.Sweep(t.Context(), dial, nil, &prove.SweepOptions{Clients: []string{"modern"}})
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
		unproved    string
	}{
		{"made up from the schema", plain, false, nil, "no such place"},
		{"given by the user", plain, false, lisbon, ""},
		{"for another tool", plain, false, map[string]map[string]any{"other": {"place": "Lisbon"}}, "no such place"},
		{"an example of the property", strings.Replace(plain, `"string"`, `"string","examples":["Lisbon"]`, 1), false, nil, ""},
		{"an example of the whole", strings.Replace(plain, `"object"`, `"object","examples":[{"place":"Lisbon"}]`, 1), false, nil, ""},
		{"the user's before the example", strings.Replace(plain, `"object"`, `"object","examples":[{"place":"Paris"}]`, 1), false, lisbon, ""},
		{"after a round of questions", plain, true, lisbon, ""},
	} {
		for name, dial := range dials(t, picky(tc.schema, tc.ask), "modern") {
			reports := sweep(t, dial, "modern", prove.SweepOptions{Arguments: tc.arguments})
			good := reports[0].Findings[0]
			require.Equal(t, "sweep/good-input", good.Rule.Name)
			if tc.unproved == "" {
				require.Equal(t, prove.Pass, good.Outcome, "%s, %s: %s", tc.explanation, name, good.Detail)
				require.Zero(t, reports.Count(prove.Skip))
			} else {
				require.Equal(t, prove.Skip, good.Outcome, "%s, %s", tc.explanation, name)
				require.Contains(t, good.Detail, tc.unproved, "%s, %s", tc.explanation, name)
				require.Equal(t, 1, reports.Count(prove.Skip))
				require.Contains(t, reports.String(), "not proved: ")
			}
		}
	}
}

// A legacy client is asked over its session, and follows as many rounds as a call takes.
func TestALegacyClientOfASweepAnswersQuestions(t *testing.T) {
	form := &mcp.ElicitParams{Message: "Which?", RequestedSchema: &jsonschema.Schema{
		Type: "object", Required: []string{"unit"},
		Properties: map[string]*jsonschema.Schema{"unit": {Type: "string", Enum: []any{"metric", "imperial"}}},
	}}
	for _, tc := range []struct {
		explanation string
		questions   int
		ask         func(ctx context.Context, s *mcp.ServerSession) error
		outcome     prove.Outcome
		says        string
	}{
		{"three rounds", 3, func(ctx context.Context, s *mcp.ServerSession) error {
			res, err := s.Elicit(ctx, form)
			if err == nil && (res.Action != "accept" || res.Content["unit"] != "metric") {
				t.Errorf("answered with %v", res)
			}
			return err
		}, prove.Pass, ""},
		{"without end", 1000, func(ctx context.Context, s *mcp.ServerSession) error {
			_, err := s.Elicit(ctx, form)
			return err
		}, prove.Fail, "it asks more than 100 questions in one call"},
		{"what was not declared", 1, func(ctx context.Context, s *mcp.ServerSession) error {
			_, err := s.ListRoots(ctx, nil)
			return err
		}, prove.Fail, `the question "roots/list": it asks for what the client did not declare`},
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
			good := 0
			for _, r := range sweep(t, prove.HTTP(front.URL, nil), "legacy", prove.SweepOptions{Patience: 10 * time.Second}) {
				if f, ok := r.Of("sweep/good-input"); ok && r.Tool == "asks" {
					good++
					require.Equal(t, tc.outcome, f.Outcome)
					require.Equal(t, tc.says, f.Detail)
				}
			}
			require.Equal(t, 1, good)
		})
	}
}
