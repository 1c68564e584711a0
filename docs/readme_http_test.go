package docs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

func bothEras(server *mcp.Server) (http.Handler, error) {
	return mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

// Modern and legacy clients connect to one URL.
func Example_bothEras() {
	handler, err := bothEras(mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil))
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "user", Version: "1"}, nil)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: web.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			panic(err)
		}
		fmt.Println(session.InitializeResult().ProtocolVersion)
		session.Close()
	}
	// Output:
	// 2025-11-25
	// 2026-07-28
}
