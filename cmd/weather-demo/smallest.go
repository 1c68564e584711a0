package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// smallest are the two smallest handlers, which are explained while they run.
var smallest = map[string]func(context.Context, printer) error{"basic": basic, "multiround": multiround}

// basic runs the smallest handler and explains its two moves.
func basic(ctx context.Context, p printer) error {
	client, err := connect(ctx, nil, nil, func(rt *mrtr.Runtime, server *mcp.Server) {
		mrtr.AddTool(server, &mcp.Tool{Name: "greet"}, options.Basic(rt))
	}, nil)
	if err != nil {
		return err
	}
	defer client.close()
	fmt.Fprint(p, basicIntro)
	first, err := client.Send(ctx, wire.Request{Name: "greet"})
	if err != nil {
		return err
	}
	fmt.Fprintf(p, "%s the client calls greet\n", p.bold("Round 1:"))
	fmt.Fprint(p, "  read    there is no answer yet\n")
	fmt.Fprintf(p, "  ask     the result is %s: %q\n", first.ResultType, first.Asks[0].Message)
	fmt.Fprintf(p, "          with a sealed state of %d bytes; the server keeps nothing\n\n", len(first.State))

	answer := "Ada"
	second, err := client.Send(ctx, answering(wire.Request{Name: "greet"}, first, wire.Value(answer)))
	if err != nil {
		return err
	}
	fmt.Fprintf(p, "%s the client calls greet again, with the answer and the state\n", p.bold("Round 2:"))
	fmt.Fprintf(p, "  read    the state is valid and the answer fits: name is %q\n", answer)
	fmt.Fprint(p, "  ask     nothing is missing\n")
	fmt.Fprintf(p, "  result  %s: %s\n", second.ResultType, p.good(second.Text))
	fmt.Fprint(p, "\nNext: weather-demo -style multiround\n")
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

// multiround resolves a work item. Each round goes to a new server; the servers
// share nothing but the key.
func multiround(ctx context.Context, p printer) error {
	fmt.Fprint(p, multiroundIntro)
	key := statecodec.GenerateKey()
	answers := map[string]any{"resolution": "Duplicate", "duplicate_of": 4301}
	request := wire.Request{Name: "resolve_work_item", Arguments: map[string]int{"work_item_id": 4522}}
	read := "there is no answer yet"
	for round := 1; ; round++ {
		reply, err := onFreshServer(ctx, key, request)
		if err != nil {
			return err
		}
		fmt.Fprintf(p, "%s a new server with the same key\n", p.bold(fmt.Sprintf("Round %d:", round)))
		fmt.Fprintf(p, "  read    %s\n", read)
		if !reply.Incomplete() {
			fmt.Fprint(p, "  ask     nothing is missing\n")
			fmt.Fprintf(p, "  result  %s: %s\n", reply.ResultType, p.good(reply.Text))
			return nil
		}
		q := reply.Asks[0]
		answer := answers[q.Key]
		fmt.Fprintf(p, "  ask     %s %s\n", q.Message, p.dim(fmt.Sprintf("(and a sealed state, %d bytes)", len(reply.State))))
		fmt.Fprintf(p, "  user    %s = %v\n\n", q.Key, answer)
		request = answering(request, reply, wire.Value(answer))
		if read = q.Key + " from the request"; round > 1 {
			read += "; the earlier answer from the state"
		}
	}
}

const multiroundIntro = `Two questions, of which the second depends on the first answer
(options/multiround.go). Each round below goes to a new server; the servers
share nothing but the key. The client sends an answer once, in the next request;
later rounds have it because it travels in the sealed state.

`

func onFreshServer(ctx context.Context, key statecodec.Key, request wire.Request) (*wire.Reply, error) {
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
	client, err := connect(ctx, opts, nil, func(rt *mrtr.Runtime, server *mcp.Server) {
		mrtr.AddTool(server, &mcp.Tool{Name: "resolve_work_item"}, options.MultiRound(rt))
	}, nil)
	if err != nil {
		return nil, err
	}
	defer client.close()
	return client.Send(ctx, request)
}
