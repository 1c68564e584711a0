package sse_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse"
)

// A tool that asks twice, called by a client of revision 2025-11-25 which does
// as that revision says: it answers what it is asked and takes the result for
// the result.
func ExampleBridge() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, which := range []struct {
		name    string
		handler mcp.ToolHandlerFor[tripIn, tripOut]
	}{
		{"before", trip},
		{"after", sse.Bridge(trip, nil)},
	} {
		client, err := dial(ctx, tripServer(which.handler), "2025-11-25", formCaps, traveller)
		if err != nil {
			log.Fatal(err)
		}
		res, err := client.callTool(ctx, "trip", map[string]any{"who": "Ada"}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: one call, %d questions\n", which.name, len(client.questions()))
		fmt.Println("  content:", res["content"])
		fmt.Println("  questions leaked to the client:", res["inputRequests"] != nil)
	}

	// Output:
	// before: one call, 1 questions
	//   content: []
	//   questions leaked to the client: true
	// after: one call, 2 questions
	//   content: [map[text:{"text":"Ada goes to Lisbon by train"} type:text]]
	//   questions leaked to the client: false
}
