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

const basicAbout = `Runs options/basic.go in memory and explains the two moves that every such
handler makes: read the answer, and ask for it if it is missing.`

// basic runs the smallest handler and explains its two moves.
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
	fmt.Fprint(w, basicIntro)
	first, err := client.Send(ctx, wire.Request{Name: "greet"})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s the client calls greet\n", p.bold("Round 1:"))
	fmt.Fprint(w, "  read    there is no answer yet\n")
	fmt.Fprintf(w, "  ask     the result is %s: %q\n", first.ResultType, first.Asks[0].Message)
	fmt.Fprintf(w, "          with a sealed state of %d bytes; the server keeps nothing\n\n", len(first.State))

	answer := "Ada"
	second, err := client.Send(ctx, wire.Request{
		Name:      "greet",
		State:     first.State,
		Responses: map[string]any{"name": wire.Value(answer)(first.Asks[0])},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s the client calls greet again, with the answer and the state\n", p.bold("Round 2:"))
	fmt.Fprintf(w, "  read    the state is valid and the answer fits: name is %q\n", answer)
	fmt.Fprint(w, "  ask     nothing is missing\n")
	fmt.Fprintf(w, "  result  %s: %s\n", second.ResultType, p.good(second.Text))
	fmt.Fprint(w, "\nNext: weather-demo multiround\n")
	return nil
}

// basicIntro shows the body of the handler as it stands in options/basic.go.
const basicIntro = `The smallest handler that asks (options/basic.go). It is called once for each
round, from the top, and makes the same two moves each time:

    name, ok := mrtr.Answer(c, yourName) // move one: read the answer
    if !ok {
        return mrtr.Need(yourName), Greeting{}, nil // move two: ask for it
    }
    return nil, Greeting{"Hello, " + name + "."}, nil

`
