package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// basic runs the smallest handler and says what its two moves are.
func basic(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("basic", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	rt, err := mrtr.New(nil)
	if err != nil {
		return err
	}
	defer rt.Close()
	server := mcp.NewServer(implementation, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, options.Basic(rt))
	client, err := wire.Connect(ctx, server, nil)
	if err != nil {
		return err
	}
	defer client.Close()

	w, p := t.out, painterFor(t.out)
	fmt.Fprint(w, `The smallest handler that asks (options/basic.go). It makes two moves:

    name, ok := mrtr.Answer(c, yourName)          // 1. read what came back
    if !ok {
        return mrtr.Need(yourName), Greeting{}, nil   // 2. ask for what is missing
    }

`)
	first, err := client.Send(ctx, wire.Request{Name: "greet"})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s the client calls greet\n", p.bold("Round 1:"))
	fmt.Fprint(w, "  move 1  nothing has come back yet\n")
	fmt.Fprintf(w, "  move 2  so the result is %s: %q,\n", first.ResultType, first.Asks[0].Message)
	fmt.Fprintf(w, "          with a sealed state of %d bytes\n\n", len(first.State))

	second, err := client.Send(ctx, wire.Request{
		Name:      "greet",
		State:     first.State,
		Responses: map[string]any{"name": wire.Value("Ada")(first.Asks[0])},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s the client calls greet again, with the answer and the state\n", p.bold("Round 2:"))
	fmt.Fprint(w, "  move 1  the state opens, the answer fits the question: name is \"Ada\"\n")
	fmt.Fprintf(w, "  result  %s: %s\n", second.ResultType, p.good(second.Text))
	return nil
}
