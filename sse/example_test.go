package sse_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

// A tool that asks twice is called by a client of revision 2025-11-25, which
// answers the questions that come over its connection and takes the result as
// final. Without the bridge that result is empty and carries the second question.
func ExampleBridge() {
	ctx := context.Background()
	for _, which := range []struct {
		name    string
		handler mcp.ToolHandlerFor[trip.In, trip.Out]
	}{
		{"before", trip.Handler},
		{"after", sse.Bridge(trip.Handler, nil)},
	} {
		client, err := wire.Connect(ctx, trip.NewServer(which.handler), &wire.Options{Version: "2025-11-25"})
		if err != nil {
			log.Fatal(err)
		}
		out, err := client.Call(ctx, "trip", map[string]any{"who": "Ada"}, trip.Answers)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d call, %d questions\n", which.name, client.Requests("tools/call"), len(client.Asked()))
		fmt.Printf("  result: %#q\n", out.Structured)
		fmt.Println("  questions leaked to the client:", out.Incomplete())
		client.Close()
	}

	// Output:
	// before: 1 call, 1 questions
	//   result: ``
	//   questions leaked to the client: true
	// after: 1 call, 2 questions
	//   result: `{"text":"Ada goes to Lisbon by train"}`
	//   questions leaked to the client: false
}
