package wstransport_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// BenchmarkCall is one modern call of a small tool, over a WebSocket and over
// streamable HTTP.
func BenchmarkCall(b *testing.B) {
	server := mcp.NewServer(impl, nil)
	tool(server, "hello", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says("hello"), nil })
	call := func(b *testing.B, session *mcp.ClientSession) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "hello"}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("websocket", func(b *testing.B) {
		call(b, connect(b, serve(b, server, nil).url, modern, nil))
	})
	b.Run("http", func(b *testing.B) {
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
		b.Cleanup(web.Close)
		session, err := mcp.NewClient(impl, nil).Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
		require.NoError(b, err)
		b.Cleanup(func() { _ = session.Close() })
		call(b, session)
	})
}
