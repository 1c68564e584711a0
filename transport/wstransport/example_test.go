package wstransport_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/wstransport"
)

// A server over WebSocket, and a client that learns why the connection ends.
func Example() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	handler, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(handler)
	defer web.Close()

	transport, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http"), nil)
	if err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.InitializeResult().ServerInfo.Name)

	if err := handler.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.Wait())
	// Output:
	// greeter
	// wstransport: peer closed with code 1001: the server is shutting down
}
