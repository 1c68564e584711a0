package options_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

func ExampleBasic() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "greet"}, options.Basic(rt))

	user := map[string]any{"name": "Ada"}
	converse(server, user, &mcp.CallToolParams{Name: "greet"})
	// Output:
	// What is your name?
	//   map[name:Ada]
	// Hello, Ada.
}

func ExampleMultiRound() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "resolve"}, options.MultiRound(rt))

	item := &mcp.CallToolParams{Name: "resolve", Arguments: options.WorkItem{ID: 7}}
	converse(server, map[string]any{"resolution": "Fixed"}, item)
	converse(server, map[string]any{"resolution": "Won't Fix"}, item)
	converse(server, map[string]any{"resolution": "Duplicate", "duplicate_of": 3}, item)
	// Output:
	// How is it resolved?
	//   map[resolution:Fixed]
	// #7 resolved as Fixed.
	// How is it resolved?
	//   map[resolution:Won't Fix]
	// #7 resolved as Won't Fix.
	// How is it resolved?
	//   map[resolution:Duplicate]
	// Which work item does it duplicate?
	//   map[duplicate_of:3]
	// #7 resolved as Duplicate of #3.
}

// converse makes a call for a user who fills in every form, and prints the
// questions, the answers and the result.
func converse(server *mcp.Server, user map[string]any, params *mcp.CallToolParams) {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "user", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println(req.Params.Message)
			form := req.Params.RequestedSchema.(map[string]any)
			content := map[string]any{}
			for property := range form["properties"].(map[string]any) {
				content[property] = user[property]
			}
			fmt.Println(" ", content)
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	session, err := client.Connect(ctx, clientSide, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	call := *params // CallTool writes into its params
	res, err := session.CallTool(ctx, &call)
	if err != nil {
		panic(err)
	}
	for _, content := range res.Content {
		fmt.Println(content.(*mcp.TextContent).Text)
	}
}
