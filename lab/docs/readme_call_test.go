package docs_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call calls a tool for a user who takes the window seat, and prints the
// questions and the result.
func call(server *mcp.Server, tool string) {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "user", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "window"}}, nil
		},
	})
	session, err := client.Connect(ctx, clientSide, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: Trip{"Lisbon"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
}

// desk is the system that has the effect. It counts the seats it holds.
var desk travelDesk

type travelDesk struct{ held int }

func (d *travelDesk) Hold(_ context.Context, idem, to string) (string, error) {
	d.held++
	return "a seat to " + to, nil
}
