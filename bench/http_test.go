package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

// BenchmarkHTTP is the two-round call over streamable HTTP and, with one client,
// over our WebSocket. The time of a call is the elapsed time divided by the number
// of calls.
func BenchmarkHTTP(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			var entrants []entrant
			enter := func(name string, connect func() (call func())) {
				e := entrant{name: name}
				for range clients {
					e.clients = append(e.clients, connect())
				}
				entrants = append(entrants, e)
			}
			for _, h := range handlers(b) {
				server := serve(h.handler)
				getServer := func(*http.Request) *mcp.Server { return server }
				url := front(b, mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{Stateless: true}))
				enter(h.name, func() func() {
					return dial(b, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: web(b), DisableStandaloneSSE: true})
				})
				if clients > 1 || h.name != "native" && h.name != "idle" {
					continue
				}
				handler, err := wstransport.NewHandler(getServer, nil)
				require.NoError(b, err)
				socket := "ws" + strings.TrimPrefix(front(b, handler), "http")
				enter("websocket-"+h.name, func() func() {
					transport, err := wstransport.Dial(context.Background(), socket, nil)
					require.NoError(b, err)
					return dial(b, transport)
				})
			}
			peer := front(b, mcpGoHandler())
			enter("mcp-go", func() func() { return dialMCPGo(b, peer, web(b)) })
			takeTurns(b, max(16, clients), entrants)
		})
	}
}

func front(b *testing.B, h http.Handler) (url string) {
	server := httptest.NewServer(h)
	b.Cleanup(server.Close)
	return server.URL
}

// web is a new HTTP client for each MCP client, as on separate machines: the
// connections of a shared one would be contended.
func web(b *testing.B) *http.Client {
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
