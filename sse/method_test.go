package sse_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

func TestPromptsAndResources(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "pr", Version: "1"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "p"}, sse.BridgePrompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		arg := req.Params.Arguments["x"]
		req.Params.Arguments["x"] = "ruined"
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.GetPromptResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": trip.Form("q?", "q")}}, nil
		}
		return &mcp.GetPromptResult{Description: arg, Messages: []*mcp.PromptMessage{}}, nil
	}, nil))
	server.AddResource(&mcp.Resource{Name: "r", URI: "r://x"}, sse.BridgeResource(func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.ReadResourceResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": trip.Form("q?", "q")}}, nil
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
