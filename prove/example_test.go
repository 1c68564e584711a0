package prove_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/prove"
)

// A tool that takes any answer for a yes, served in memory.
func ExampleRun() {
	var removed atomic.Int64
	form := map[string]any{"type": "object", "required": []string{"sure"}, "properties": map[string]any{"sure": map[string]any{"type": "boolean"}}}
	remove := func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if len(req.Params.InputResponses) == 0 {
			question := &mcp.ElicitParams{Message: "Really?", RequestedSchema: form}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": question}}, nil, nil
		}
		removed.Add(1)
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
	subject := prove.Subject{Dial: dial, Effects: func(context.Context) (map[string]int, error) {
		return map[string]int{"remove": int(removed.Load())}, nil
	}}
	report, err := prove.Run(context.Background(), subject, prove.Scenario{Tool: "remove"}, &prove.Options{
		Late: 20 * time.Millisecond,
		Only: []string{"consent/declined", "answer/missing", "state/altered"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(report)
	// Output:
	// skip  state/altered             MUST    needs a state: the tool sends none
	// pass  answer/missing            SHOULD
	// FAIL  consent/declined          promise  "remove" happened after the user declined
	//         A user who declines or cancels ends the call, and nothing happens. (a promise to the person: nothing happens without their yes, or otherwise than they were told)
	//         cure:    Do nothing that cannot be undone above the answer that agrees to it.
	//         1. begin a call
	//         2. answer 1 with declined
	//         request: {"arguments":{},"inputResponses":{"sure":{"action":"decline"}},"name":"remove"}
	//         reply:   result "Removed."
	// remove: 2 rules tried, 1 failed, 0 notes, 1 skipped; 41 calls, remove 16 times
}
