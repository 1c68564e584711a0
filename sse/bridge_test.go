package sse_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

func TestPassThroughAllocatesNothing(t *testing.T) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: modernMeta}}
	bare := func(context.Context, *mcp.CallToolRequest, wire.TripIn) (*mcp.CallToolResult, wire.TripOut, error) {
		return nil, wire.TripOut{}, nil
	}
	bridged := sse.Bridge(bare, nil)
	tool := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, nil)
	prompt := sse.BridgePrompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil }, nil)
	promptReq := &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Meta: modernMeta}}
	resource := sse.BridgeResource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil }, nil)
	resourceReq := &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{Meta: modernMeta}}
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, _ = bridged(ctx, req, wire.TripIn{})
		_, _ = tool(ctx, req)
		_, _ = prompt(ctx, promptReq)
		_, _ = resource(ctx, resourceReq)
	}))
}

// go-sdk refuses content that breaks the schema, and loses it. The handler finds
// no answer and asks again; the other answers of the round arrive. Where none did, the
// answers are nil, as a modern client's empty map is.
func TestInvalidAnswerIsAMissingOne(t *testing.T) {
	var rounds []int
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rounds = append(rounds, len(req.Params.InputResponses))
		require.Equal(t, len(req.Params.InputResponses) == 0, req.Params.InputResponses == nil)
		state := req.Params.RequestState
		if _, ok := wire.AcceptedText(req, "a"); ok {
			state += "a"
		}
		if _, ok := wire.AcceptedText(req, "b"); ok {
			state += "b"
		}
		ask := mcp.InputRequestMap{}
		for _, key := range []string{"a", "b"} {
			if !strings.Contains(state, key) {
				ask[key] = wire.TextForm(key+"?", key)
			}
		}
		if len(ask) == 0 {
			return say("%s", state)
		}
		return need(state, ask)
	}
	var tries atomic.Int32
	out, client := callRaw(t, h, nil, wire.FormOnly, func(q wire.Question) any {
		if q.Key == "b" && tries.Add(1) <= 2 {
			return wire.Value(5)(q)
		}
		return wire.Value("yes")(q)
	})
	require.Equal(t, "ab", out.Text)
	require.Equal(t, []int{0, 1, 0, 1}, rounds)
	require.Len(t, client.Asked(), 4)
}

// The handler's last result is returned as it is, an error included.
func TestFinalResultIsTheHandlers(t *testing.T) {
	final := fmt.Errorf("no such place")
	h := func(_ context.Context, req *mcp.CallToolRequest, _ wire.TripIn) (*mcp.CallToolResult, wire.TripOut, error) {
		if len(req.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}}, wire.TripOut{}, nil
		}
		return nil, wire.TripOut{}, final
	}
	client := connect(t, wire.NewTripServer(sse.Bridge(h, nil)), legacy)
	out, err := client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.Answers{"q": wire.Decline})
	require.NoError(t, err)
	require.True(t, out.IsError)
	require.Equal(t, "no such place", out.Text)
}

func TestPromptsAndResources(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "pr", Version: "1"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "p"}, sse.BridgePrompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		arg := req.Params.Arguments["x"]
		req.Params.Arguments["x"] = "ruined"
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.GetPromptResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}}, nil
		}
		return &mcp.GetPromptResult{Description: arg, Messages: []*mcp.PromptMessage{}}, nil
	}, nil))
	server.AddResource(&mcp.Resource{Name: "r", URI: "r://x"}, sse.BridgeResource(func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.ReadResourceResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "r://x", Text: "content"}}}, nil
	}, nil))
	prompt := wire.Request{Method: "prompts/get", Name: "p", Arguments: map[string]any{"x": "kept"}}
	resource := wire.Request{Method: "resources/read", Name: "r://x"}
	client := connect(t, server, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"q": wire.Value("yes")}})
	reply, err := client.Send(t.Context(), prompt)
	require.NoError(t, err)
	require.JSONEq(t, `{"description":"kept","messages":[]}`, string(reply.Result))
	require.Len(t, client.Asked(), 2)
	reply, err = client.Send(t.Context(), resource)
	require.NoError(t, err)
	require.Contains(t, string(reply.Result), `"text":"content"`)
	require.NotContains(t, string(reply.Result), "inputRequests")
	require.Len(t, client.Asked(), 4)

	modern := connect(t, server, nil)
	for _, r := range []wire.Request{prompt, resource} {
		reply, err := modern.Send(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, "input_required", reply.ResultType)
	}
	require.Empty(t, modern.Asked())
}
