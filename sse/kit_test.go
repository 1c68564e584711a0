package sse_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

// TestMain collects garbage rarely: go-sdk leaves 32 KiB of it for each message.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// turn is what a handler returns in one round. It is done if it asks nothing.
type turn struct {
	questions mcp.InputRequestMap
	state     string
	content   bool // beside the questions
}

// handler is one of any kind: it sees the state and the answers of its request.
type handler func(state string, answers mcp.InputResponseMap) turn

// doors are the requests that reach the handler of serve, one for each Bridge function.
var doors = map[string]wire.Request{
	"BridgeTool":     {Name: "tool", Arguments: map[string]any{"list": []string{"one"}}},
	"Bridge":         {Name: "typed", Arguments: map[string]any{"list": []string{"one"}}},
	"BridgePrompt":   {Method: "prompts/get", Name: "prompt"},
	"BridgeResource": {Method: "resources/read", Name: "r://x"},
}

func serve(opts *sse.BridgeOptions, h handler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "doors", Version: "1"}, nil)
	tool := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		// A round that ruins all it was given leaves the next round's untouched.
		if given := fmt.Sprintf("%s %s %s %s", req.Params.Name, req.Params.Arguments, req.Extra.Header, req.Params.Meta["note"]); strings.Contains(given, "ruined") {
			panic(given)
		}
		req.Params.Name = "ruined"
		copy(req.Params.Arguments, "{ruined")
		req.Extra.Header.Set("X", "ruined")
		req.Params.Meta["note"].(map[string]any)["x"] = "ruined"
		next := h(req.Params.RequestState, req.Params.InputResponses)
		res := &mcp.CallToolResult{InputRequests: next.questions, RequestState: next.state}
		if next.questions == nil || next.content {
			res.Content = []mcp.Content{&mcp.TextContent{Text: "done"}}
		}
		return res, nil
	}
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, sse.BridgeTool(tool, opts))
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, sse.Bridge(func(ctx context.Context, req *mcp.CallToolRequest, in map[string][]string) (*mcp.CallToolResult, any, error) {
		if in["list"][0] == "ruined" {
			panic(in)
		}
		in["list"][0] = "ruined"
		res, err := tool(ctx, req)
		return res, nil, err
	}, opts))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok {
				call.Extra = &mcp.RequestExtra{Header: http.Header{"X": {"kept"}}}
				if call.Params.Meta == nil {
					call.Params.Meta = mcp.Meta{}
				}
				call.Params.Meta["note"] = map[string]any{"x": "kept"}
			}
			return next(ctx, method, req)
		}
	})
	server.AddPrompt(&mcp.Prompt{Name: "prompt"}, sse.BridgePrompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		next := h(req.Params.RequestState, req.Params.InputResponses)
		res := &mcp.GetPromptResult{InputRequests: next.questions, RequestState: next.state}
		if next.questions == nil || next.content {
			res.Messages = []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "done"}}}
		}
		return res, nil
	}, opts))
	server.AddResource(&mcp.Resource{Name: "resource", URI: "r://x"}, sse.BridgeResource(func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		next := h(req.Params.RequestState, req.Params.InputResponses)
		res := &mcp.ReadResourceResult{InputRequests: next.questions, RequestState: next.state}
		if next.questions == nil || next.content {
			res.Contents = []*mcp.ResourceContents{{URI: "r://x", Text: "done"}}
		}
		return res, nil
	}, opts))
	return server
}

func connect(t testing.TB, server *mcp.Server, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.Connect(t.Context(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

var yes = wire.Value("yes")

// asking asks for one text in every round.
func asking(string, mcp.InputResponseMap) turn {
	return turn{questions: mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}, state: "s"}
}

// rawServer is a server whose tool "tool" has the handler h.
func rawServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func say(format string, args ...any) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
}

func need(state string, questions mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: questions, RequestState: state}, nil
}
