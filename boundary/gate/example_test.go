package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/mrtr"
)

type file struct {
	Path string `json:"path"`
}

func remove(_ context.Context, _ *mcp.CallToolRequest, in file) (*mcp.CallToolResult, any, error) {
	fmt.Println("tool:  deleting", in.Path)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil, nil
}

// A plain tool of go-sdk gets a question in front of it with one line.
func ExampleInstall() {
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "delete", Title: "Delete a file"}, remove)

	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	if _, err := gate.Install(server, rt, nil); err != nil {
		panic(err)
	}

	call(server, "draft.txt", "accept")
	call(server, "/etc\nand draft.txt", "decline")
	// Output:
	// user:  Allow the call of "Delete a file" (delete)?
	// user:  path: "draft.txt"
	// tool:  deleting draft.txt
	// agent: deleted
	// user:  Allow the call of "Delete a file" (delete)?
	// user:  path: "/etc\u000aand draft.txt"
	// agent: Stopped: the user did not approve the call of "delete", and it was not made.
}

// A question without the secret in the arguments.
func ExampleDescribe() {
	withoutToken := func(tool *mcp.Tool, arguments json.RawMessage) string {
		var members map[string]any
		if json.Unmarshal(arguments, &members) == nil && members["token"] != nil {
			members["token"] = "(hidden)"
			arguments, _ = json.Marshal(members)
		}
		return gate.Describe(tool, arguments)
	}
	_ = gate.Options{Message: withoutToken}

	fmt.Println(withoutToken(&mcp.Tool{Name: "deploy"}, json.RawMessage(`{"to":"production","token":"s3cret"}`)))
	// Output:
	// Allow the call of deploy?
	// to: "production"
	// token: "(hidden)"
}

// call is a client whose user reads the question and answers it.
func call(server *mcp.Server, path, action string) {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			for line := range strings.SplitSeq(req.Params.Message, "\n") {
				fmt.Println("user: ", line)
			}
			if action != "accept" {
				return &mcp.ElicitResult{Action: action}, nil
			}
			return &mcp.ElicitResult{Action: action, Content: map[string]any{"approve": true}}, nil
		},
	})
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, here, nil); err != nil {
		panic(err)
	}
	session, err := client.Connect(ctx, there, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "delete", Arguments: file{path}})
	if err != nil {
		panic(err)
	}
	fmt.Println("agent:", res.Content[0].(*mcp.TextContent).Text)
}
