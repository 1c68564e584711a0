package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

type lookup struct {
	Location string `json:"location"`
}

type forecast struct {
	Summary string `json:"summary"`
}

// newWeather is a server with one tool, in the given style.
func newWeather(style mrtr.Style[lookup, forecast]) *mcp.Server {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, mrtr.Tool(rt, style, nil))
	return server
}

// callWeather calls that tool about Lisbon, and prints its questions and its result.
func callWeather(server *mcp.Server, answers map[string]any) { callTool(server, "weather", answers) }

// callTool calls a tool about Lisbon with go-sdk's own client.
func callTool(server *mcp.Server, name string, answers map[string]any) {
	session := connectUser(server, answers, "")
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"location": "Lisbon"}})
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

// connectUser connects a client of a revision, the newest if "". Its user answers
// from the map, by the name of the form's property, and declines where it is nil.
// Its model says yes to everything, and it has one root.
func connectUser(server *mcp.Server, answers map[string]any, version string) *mcp.ClientSession {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
			RootsV2:     &mcp.RootCapabilities{}, //lint:ignore SA1019 still legal on the wire
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", req.Params.Message)
			switch {
			case answers == nil:
				return &mcp.ElicitResult{Action: "decline"}, nil
			case req.Params.Mode == "url":
				fmt.Println("visited:", req.Params.URL)
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			content := map[string]any{}
			for property := range req.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
				content[property] = answers[property]
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "example", Role: "assistant", Content: &mcp.TextContent{Text: "Yes."}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/user/trips", Name: "trips"}) //lint:ignore SA1019 still legal on the wire
	session, err := client.Connect(ctx, clientSide, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		panic(err)
	}
	return session
}
