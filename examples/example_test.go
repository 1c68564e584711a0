package examples_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
)

// run calls a tool of this style. The user answers from the map, by the question's
// property, and declines every other. The effects print themselves.
func run[In, Out any](style mrtr.Style[In, Out], in In, answers map[string]any) {
	ctx := context.Background()
	var asked atomic.Int32 // those of one round at the same time
	rt := must(mrtr.New(nil))
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, nil))
	here, there := mcp.NewInMemoryTransports()
	must(server.Connect(ctx, here, nil))
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
			RootsV2:     &mcp.RootCapabilities{}, //lint:ignore SA1019 still legal on the wire
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			if req.Params.Mode == "url" {
				if answers["payment"] == nil {
					return &mcp.ElicitResult{Action: "decline"}, nil
				}
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			content := map[string]any{}
			for property := range req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
				if v, ok := answers[property]; ok {
					content[property] = v
				}
			}
			if len(content) == 0 {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "example", Role: "assistant", Content: &mcp.TextContent{Text: "Hello"}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/user/kitchen", Name: "kitchen"}) //lint:ignore SA1019 still legal on the wire
	session := must(client.Connect(ctx, there, nil))
	defer session.Close()
	result := must(session.CallTool(ctx, &mcp.CallToolParams{Name: "tool", Arguments: in}))
	fmt.Printf("  asked %d questions: %s\n", asked.Load(), result.Content[0].(*mcp.TextContent).Text)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var (
	two    = examples.Order{Items: []string{"chair", "table"}}
	buyer  = map[string]any{"size.0": "S", "size.1": "L", "name": "Ann", "email": "ann@example.org", "payment": true}
	leaver = map[string]any{"size.0": "S", "size.1": "L", "name": "Ann", "email": "ann@example.org", "note": "Hi"}
)
