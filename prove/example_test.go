package prove_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/prove"
)

// A tool that takes any answer for a yes, served in memory.
func ExampleRun() {
	form := map[string]any{"type": "object", "required": []string{"sure"}, "properties": map[string]any{"sure": map[string]any{"type": "boolean"}}}
	remove := func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if len(req.Params.InputResponses) == 0 {
			question := &mcp.ElicitParams{Message: "Really?", RequestedSchema: form}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": question}}, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Removed."}}}, nil, nil
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "remove"}, remove)

	dial := func(ctx context.Context, _ *prove.Caller) (*prove.Endpoint, error) {
		here, there := mcp.NewInMemoryTransports()
		session, err := server.Connect(ctx, here, nil)
		if err != nil {
			return nil, err
		}
		return &prove.Endpoint{Transport: there, Close: session.Close}, nil
	}
	report, err := prove.Run(context.Background(), prove.Subject{Dial: dial}, prove.Scenario{Tool: "remove"}, &prove.Options{
		Only: []string{"answer/declined", "answer/missing", "state/flipped"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(report)
	// Output:
	// skip  state/flipped             MUST    needs a state: the tool sends none
	// pass  answer/missing            SHOULD
	// FAIL  answer/declined           SHOULD  the call completes after a decline of "sure" as if it was accepted
	//         A declined question ends the call, and not as if it was accepted. (Elicitation, Error Handling: the user may decline or cancel)
	//         https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#error-handling
	//         request: {"arguments":{},"inputResponses":{"sure":{"action":"decline"}},"name":"remove"}
	//         reply:   result "Removed."
	// remove: 2 rules tried, 1 failed, 0 notes, 1 skipped; 14 calls
}
