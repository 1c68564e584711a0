package sse_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// A tool that asks twice is called by a client of revision 2025-11-25, which
// answers the questions that come over its connection and takes the result as
// final. Without the bridge that result is empty and carries the second question.
func ExampleBridge() {
	ctx := context.Background()
	for _, which := range []struct {
		name    string
		handler mcp.ToolHandlerFor[wire.TripIn, wire.TripOut]
	}{
		{"before", wire.Trip},
		{"after", sse.Bridge(wire.Trip, nil)},
	} {
		client, err := wire.Connect(ctx, wire.NewTripServer(which.handler), &wire.Options{Version: "2025-11-25"})
		if err != nil {
			log.Fatal(err)
		}
		out, err := client.Call(ctx, "trip", map[string]any{"who": "Ada"}, wire.TripAnswers)
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

// A handler that serves legacy clients in code of its own asks over the session,
// in the middle of the call.
func ExampleAsk() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if era.Of(req) != era.Legacy {
			return nil, nil, errors.New("this tool serves legacy clients alone")
		}
		answers, err := sse.Ask(ctx, req.Session, mcp.InputRequestMap{"name": wire.TextForm("Who are you?", "name")}, nil)
		if err != nil {
			return nil, nil, err // a *sse.Error; the client gets an error result
		}
		answer, ok := answers["name"].(*mcp.ElicitResult)
		if !ok || answer.Action != "accept" {
			return nil, nil, errors.New("no name was given")
		}
		return nil, fmt.Sprintf("Hello, %v!", answer.Content["name"]), nil
	})

	client, err := wire.Connect(ctx, server, &wire.Options{Version: "2025-11-25"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for _, answer := range []wire.Answer{wire.Value("Ada"), wire.Decline} {
		out, err := client.Call(ctx, "greet", nil, wire.Answers{"name": answer})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(out.Text)
	}

	// Output:
	// "Hello, Ada!"
	// no name was given
}

// A handler that works without a bridge looks at its request before it asks:
// how it can ask, and whether the client declared that it can be asked.
func Example_era() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "guide", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "guide"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		question := &mcp.ElicitParams{Message: "Pay here.", URL: "https://pay.example"}
		client := era.ClientOf(req)
		fmt.Printf("%s, %s: %s declared: %t\n", client.Version, client.Era,
			era.CapabilityFor(question), client.Declared(era.CapabilityFor(question)))
		return nil, nil, nil
	})
	for _, opts := range []*wire.Options{
		{Version: "2026-07-28"},
		{Version: "2025-11-25", Capabilities: `{"elicitation":{"form":{}}}`},
		// It asked for a revision that go-sdk negotiates down, and refuses to ask since.
		{Version: "2026-07-28", Handshake: true},
	} {
		client, err := wire.Connect(ctx, server, opts)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := client.Call(ctx, "guide", nil, nil); err != nil {
			log.Fatal(err)
		}
		client.Close()
	}

	// Output:
	// 2026-07-28, modern: url elicitation declared: true
	// 2025-11-25, legacy: url elicitation declared: false
	// 2026-07-28, unaskable: url elicitation declared: false
}
