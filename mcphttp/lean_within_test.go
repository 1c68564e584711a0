package mcphttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
)

// A handler may make a request to another server of its program without a network, with
// its own context. That one is served by the other server.
func TestARequestWithinACallHasItsOwnServer(t *testing.T) {
	bothWays(t, func(t *testing.T, stock bool) {
		named := func(name string, tool mcp.ToolHandler) *mcphttp.Handler {
			server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, tool)
			h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock})
			require.NoError(t, err)
			return h
		}
		inner := named("inner server", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("ran") })
		outer := named("outer server", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			w := httptest.NewRecorder()
			inner.ServeHTTP(w, post{
				"Content-Type: application/json\nAccept: */*\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/list\n",
				`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + versionMember + `:"2026-07-28",` + capabilitiesMember + `:{}}}}`,
			}.request().WithContext(ctx))
			return say(w.Body.String())
		})
		for range 3 {
			require.Contains(t, serve(outer, callOf("tool", ``)).body, "inner server")
		}
	})
}
