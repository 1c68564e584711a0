package sse_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

var legacy = &wire.Options{Version: wire.Legacy, Capabilities: wire.FormOnly}

// modernMeta is the _meta of a modern request, decoded.
var modernMeta = map[string]any{
	mcp.MetaKeyProtocolVersion:    era.FirstModern,
	mcp.MetaKeyClientInfo:         map[string]any{"name": "raw", "version": "1"},
	mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{}},
}

type raw = func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

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

func connect(t testing.TB, server *mcp.Server, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.Connect(t.Context(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// call calls a tool that takes no input, with one answer to every question.
func call(t *testing.T, client *wire.Client, tool string, answer wire.Answer) *wire.Outcome {
	t.Helper()
	out, err := client.Call(t.Context(), tool, map[string]any{}, wire.Answers{"*": answer})
	require.NoError(t, err)
	require.Nil(t, out.Error)
	return out
}

// callRaw bridges h and calls it once as a legacy client.
func callRaw(t *testing.T, h raw, opts *sse.BridgeOptions, caps wire.Capabilities, answer wire.Answer) (*wire.Outcome, *wire.Client) {
	t.Helper()
	client := connect(t, rawServer(sse.BridgeTool(h, opts)), &wire.Options{Version: wire.Legacy, Capabilities: caps})
	out := call(t, client, "tool", answer)
	require.NotContains(t, string(out.Result), "inputRequests", "a legacy client must never see a question as a result")
	require.NotContains(t, string(out.Result), "requestState")
	return out, client
}

// record keeps the error that the last request of a server ended with.
func record(server *mcp.Server) *error {
	recorded := new(error)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			*recorded = err
			if tool, ok := res.(*mcp.CallToolResult); ok && err == nil {
				*recorded = tool.GetError()
			}
			return res, err
		}
	})
	return recorded
}
