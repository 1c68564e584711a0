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
