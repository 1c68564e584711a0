package wstransport_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/wstransport"
)

// A server that asks, and a client that answers, over one WebSocket.
func Example() {
	ctx := context.Background()

	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
		if !ok {
			ask := &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
			}}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": ask}}, nil, nil
		}
		text := fmt.Sprintf("Hello, %v!", answer.Content["name"])
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	handler, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(handler)
	defer web.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println(req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
	})
	transport, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http"), nil)
	if err != nil {
		log.Fatal(err)
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)

	if err := handler.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.Wait())
	// Output:
	// Who are you?
	// Hello, Ada!
	// wstransport: peer closed with code 1001: the server is shutting down
}
