package boundary_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

type placeNotes struct {
	Place string `json:"place"`
	Notes string `json:"notes"`
}

// benchServer answers a kilobyte, as text or as the typed output of a tool with
// an output schema.
func benchServer(tb testing.TB, bounded bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ServerOptions{Logger: quiet})
	kilobyte := strings.Repeat("fair ", 1024/5)
	mcp.AddTool(s, &mcp.Tool{Name: "text"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return text(kilobyte), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "structured"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, placeNotes, error) {
		return nil, placeNotes{Place: in.Place, Notes: kilobyte}, nil
	})
	if bounded {
		require.NoError(tb, boundary.Install(s, &boundary.Options{Logger: silent}))
	}
	return s
}

func BenchmarkCall(b *testing.B) {
	for _, over := range []string{"memory", "http"} {
		for _, tool := range []string{"text", "structured"} {
			for _, kind := range []string{"bare", "bounded"} {
				b.Run(over+"/"+tool+"/"+kind, func(b *testing.B) {
					session := benchClient(b, over, benchServer(b, kind == "bounded"))
					params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"place": "Lisbon", "days": 3}}
					b.ReportAllocs()
					for b.Loop() {
						res, err := session.CallTool(b.Context(), params)
						if err != nil || res.IsError {
							b.Fatal(res, err)
						}
					}
				})
			}
		}
	}
}

func benchClient(b *testing.B, over string, server *mcp.Server) *mcp.ClientSession {
	var here mcp.Transport
	if over == "memory" {
		there, near := mcp.NewInMemoryTransports()
		_, err := server.Connect(b.Context(), there, nil)
		require.NoError(b, err)
		here = near
	} else {
		front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: true, Logger: quiet}))
		b.Cleanup(front.Close)
		here = &mcp.StreamableClientTransport{Endpoint: front.URL, DisableStandaloneSSE: true}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(b.Context(), here, nil)
	require.NoError(b, err)
	b.Cleanup(func() { session.Close() })
	return session
}
