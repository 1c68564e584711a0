// Package shop is the tool of the examples of styles, and its customer.
package shop

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// Order is what the customer orders.
type Order struct {
	Item string `json:"item"`
}

// Receipt is what the customer gets.
type Receipt struct {
	Summary string `json:"summary"`
}

// Text is what people and models read.
func (r Receipt) Text() string { return r.Summary }

// HowMany is a question that several examples ask.
var HowMany = mrtr.Elicit[int]("count", "How many?")

// Sell serves a tool in this style, and calls it as a client whose user orders three chairs by
// express. It prints what the user is asked, and the result.
func Sell(style mrtr.Style[Order, Receipt]) {
	rt, err := mrtr.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	Call(mrtr.Tool(rt, style, nil))
}

// Call does the same with a handler.
func Call(handler mcp.ToolHandlerFor[Order, Receipt]) {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "order"}, handler)
	client := mcp.NewClient(&mcp.Implementation{Name: "customer", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("user is asked:", req.Params.Message)
			content := map[string]any{"count": 3, "express": true, "insured": true}
			for key := range content {
				if _, asked := req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any)[key]; !asked {
					delete(content, key)
				}
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		log.Fatal(err)
	}
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "order", Arguments: Order{Item: "chairs"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
}
