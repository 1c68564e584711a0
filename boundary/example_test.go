package boundary_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
)

// One line around a go-sdk server turns a panic into an error result.
func ExampleInstall() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "forecast", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			var readings []int
			return nil, readings[0], nil
		})
	if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		fmt.Println(err)
		return
	}

	res := exampleCall(context.Background(), server, "forecast", nil)
	report, _ := boundary.ReportOf(res)
	fmt.Println(res.IsError, report.Type)
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// true internal
	// Tool "forecast" failed because of a fault in the server. The arguments are not the reason.
}

// The layers run from the outermost to the innermost, so a call that the tiers layer
// refuses is logged, and its arguments are not judged.
func ExampleLayers() {
	for i, name := range boundary.Layers() {
		fmt.Println(i+1, name)
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "wipe"}, outputs("wiped"))
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if slices.Contains([]string{"level", "msg", "type"}, a.Key) {
			return a
		}
		return slog.Attr{}
	}}))
	if err := boundary.Install(server, &boundary.Options{Logger: log, Deny: []boundary.Tier{boundary.Destructive}}); err != nil {
		fmt.Println(err)
		return
	}
	res := exampleCall(context.Background(), server, "wipe", map[string]any{"no such argument": 1})
	fmt.Println("agent:", res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// 1 isolation
	// 2 sizelimit
	// 3 normalize
	// 4 tiers
	// 5 arguments
	// level=WARN msg="tool call failed" type=denied
	// agent: Tool "wipe" is destructive, and this server does not offer destructive tools.
}

// An error that the agent can act on: the candidates, and where to find more.
func ExampleSelector() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "forecast"},
		func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			return nil, nil, &boundary.Selector{Kind: boundary.NotFound, Selector: "place", Candidates: []string{"Lisbon"}, Tool: "list_places"}
		})
	if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		fmt.Println(err)
		return
	}
	for _, block := range exampleCall(context.Background(), server, "forecast", map[string]any{"place": "Lisbn"}).Content {
		fmt.Println(block.(*mcp.TextContent).Text)
	}
	// Output:
	// "place" was not found. Candidates: Lisbon.
	// Call "list_places" for the valid values of "place".
}

func exampleCall(ctx context.Context, server *mcp.Server, tool string, args any) *mcp.CallToolResult {
	there, here := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		panic(err)
	}
	return res
}
