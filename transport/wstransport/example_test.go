package wstransport_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/wstransport"
)

// A server that asks, and a client that answers, over one WebSocket.
func ExampleHandler() {
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

// A client that must say who it is, and takes large results.
func ExampleDial() {
	web := httptest.NewServer(auth.RequireBearerToken(
		func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
			return nil, auth.ErrInvalidToken
		}, nil,
	)(http.NotFoundHandler()))
	defer web.Close()
	_, err := wstransport.Dial(context.Background(), "ws"+strings.TrimPrefix(web.URL, "http"), &wstransport.DialOptions{
		Limits: wstransport.Limits{MaxMessageBytes: 64 << 20},
		Header: http.Header{"Authorization": {"Bearer expired"}},
	})
	var refused *wstransport.RefusedError
	if errors.As(err, &refused) {
		fmt.Println(refused.StatusCode, refused.Message)
	}
	// Output:
	// 401 invalid token
}

// Accept leaves the session to the caller, who learns here how it ended.
func ExampleAccept() {
	ended := make(chan error, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport, err := wstransport.Accept(w, r, nil)
		if err != nil {
			return // the client has its refusal
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "of one connection", Version: "1.0.0"}, nil)
		session, err := server.Connect(r.Context(), transport, nil)
		if err != nil {
			ended <- err
			return
		}
		ended <- session.Wait()
	}))
	defer web.Close()

	ctx := context.Background()
	transport, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http"), nil)
	if err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.InitializeResult().ServerInfo.Name)
	session.Close()
	fmt.Println(<-ended)
	// Output:
	// of one connection
	// <nil>
}
