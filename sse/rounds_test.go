package sse_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

// A round looks to the handler as if a modern client had sent it.
func TestEveryRoundLooksModern(t *testing.T) {
	type round struct {
		Keys  []string
		State string
		Nil   bool // InputResponses
	}
	var rounds []round
	states := []string{"", "first\x00 \"state\" é", strings.Repeat("s", 1<<16), ""}
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := req.Params
		rounds = append(rounds, round{slices.Sorted(maps.Keys(p.InputResponses)), p.RequestState, p.InputResponses == nil})
		switch n := len(rounds); n {
		case 1:
			return need(states[1], mcp.InputRequestMap{"a": wire.TextForm("a?", "a"), "b": wire.TextForm("b?", "b")})
		case 2:
			return need(states[2], mcp.InputRequestMap{"c": wire.TextForm("c?", "c")})
		case 3:
			return need(states[3], mcp.InputRequestMap{})
		default:
			return say("done")
		}
	}
	out, client := callRaw(t, h, nil, wire.FormOnly, wire.Value("yes"))
	require.Equal(t, "done", out.Text)
	require.Equal(t, []round{
		{nil, "", true},
		{[]string{"a", "b"}, states[1], false},
		{[]string{"c"}, states[2], false}, // replaced, not gathered
		{nil, "", true},
	}, rounds)
	require.Len(t, client.Asked(), 3)
}

type mutableIn struct {
	List   []string          `json:"list"`
	Map    map[string]string `json:"map"`
	Ptr    *int              `json:"ptr"`
	Any    any               `json:"any"`
	Preset string            `json:"preset,omitempty"`
}

// A round that ruins all it was given leaves the next round's untouched.
func TestRoundsShareNothing(t *testing.T) {
	var requests []*mcp.CallToolRequest
	var seen []string
	own := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"k": "kept"}}
	h := func(_ context.Context, req *mcp.CallToolRequest, in mutableIn) (*mcp.CallToolResult, any, error) {
		now, err := json.Marshal([]any{in, req.Params.Meta, req.Params.Name, string(req.Params.Arguments), req.Extra.Header})
		if err != nil {
			return nil, nil, err
		}
		seen = append(seen, string(now))
		requests = append(requests, req)

		in.List[0], in.Map["k"], *in.Ptr = "ruined", "ruined", -1
		in.Any.(map[string]any)["deep"].([]any)[0] = "ruined"
		req.Params.Meta["note"].(map[string]any)["x"] = "ruined"
		req.Params.Name = "ruined"
		copy(req.Params.Arguments, "ruined")
		req.Extra.Header.Set("X", "ruined")
		if own, ok := req.Params.InputResponses["own"].(*mcp.ElicitResult); ok {
			own.Content["k"] = "ruined"
		}
		if len(seen) == 3 {
			return nil, nil, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}}, nil, nil
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "m", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"preset": map[string]any{"type": "string", "default": "from the schema"}},
	}}, func(ctx context.Context, req *mcp.CallToolRequest, in mutableIn) (*mcp.CallToolResult, any, error) {
		req.Extra = &mcp.RequestExtra{Header: http.Header{"X": {"kept"}}}
		req.Params.InputResponses = mcp.InputResponseMap{"own": own}
		return sse.Bridge(h, nil)(ctx, req, in)
	})
	client := connect(t, server, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"q": wire.Value("yes")}})
	reply, err := client.Send(t.Context(), wire.Request{Params: map[string]any{
		"name": "tool",
		"arguments": map[string]any{
			"list": []string{"one"}, "map": map[string]string{"k": "v"}, "ptr": 7,
			"any": map[string]any{"deep": []any{"x"}},
		},
		"_meta": map[string]any{"note": map[string]any{"x": "kept"}},
	}})
	require.NoError(t, err)
	require.False(t, reply.IsError, reply.Text)
	require.Len(t, seen, 3)
	require.Contains(t, seen[0], "from the schema")
	require.Contains(t, seen[0], "kept")
	require.Equal(t, seen[0], seen[1])
	require.Equal(t, seen[0], seen[2])
	require.Equal(t, "kept", own.Content["k"])
	require.NotSame(t, requests[0], requests[1])
	require.NotSame(t, requests[0].Params, requests[1].Params)
	require.NotSame(t, requests[1].Params, requests[2].Params)
}
