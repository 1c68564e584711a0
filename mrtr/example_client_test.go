package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTool calls a tool with go-sdk's own client, about Lisbon, and prints what
// its user is asked and what comes out. The user answers from the map, by the
// name of the form's property, and declines where it is nil.
func callTool(server *mcp.Server, name string, answers map[string]any) {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", req.Params.Message)
			if answers == nil {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			content := map[string]any{}
			for property := range req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
				content[property] = answers[property]
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	session, err := client.Connect(ctx, clientSide, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"location": "Lisbon"}})
	if err != nil {
		panic(err)
	}
	if result.IsError {
		fmt.Println("error:", result.Content[0].(*mcp.TextContent).Text)
		return
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		panic(err)
	}
	fmt.Println("result:", string(structured))
}
