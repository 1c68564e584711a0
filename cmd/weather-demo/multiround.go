package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

const multiroundAbout = `Runs options/multiround.go: two questions, of which the second depends on the
first answer. Each round goes to a new server.`

// multiround resolves a work item. Each round goes to a new server; the servers
// share nothing but the key.
func multiround(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("multiround", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	w, p := t.out, painterFor(t.out)
	fmt.Fprint(w, multiroundIntro)
	key := statecodec.GenerateKey()
	answers := map[string]any{"resolution": "Duplicate", "duplicate_of": 4301}
	request := wire.Request{Name: "resolve_work_item", Arguments: map[string]int{"work_item_id": 4522}}
	earlier := ""
	for round := 1; ; round++ {
		reply, err := onFreshServer(ctx, key, request)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s a new server with the same key\n", p.bold(fmt.Sprintf("Round %d:", round)))
		fmt.Fprintf(w, "  read    %s\n", answersIn(request, earlier))
		if !reply.Incomplete() {
			fmt.Fprint(w, "  ask     nothing is missing\n")
			fmt.Fprintf(w, "  result  %s: %s\n", reply.ResultType, p.good(reply.Text))
			return nil
		}
		q := reply.Asks[0]
		answer := answers[q.Key]
		fmt.Fprintf(w, "  ask     %s %s\n", q.Message, p.dim(fmt.Sprintf("(and a sealed state, %d bytes)", len(reply.State))))
		fmt.Fprintf(w, "  user    %s = %v\n\n", q.Key, answer)
		if request.Responses != nil {
			earlier = "; the earlier answer from the state"
		}
		request.State = reply.State
		request.Responses = map[string]any{q.Key: wire.Value(answer)(q)}
	}
}

const multiroundIntro = `Two questions, of which the second depends on the first answer
(options/multiround.go). Each round below goes to a new server; the servers
share nothing but the key. The client sends an answer once, in the next request;
later rounds have it because it travels in the sealed state.

`

func answersIn(request wire.Request, earlier string) string {
	responses, ok := request.Responses.(map[string]any)
	if !ok {
		return "there is no answer yet"
	}
	return sortedKeys(responses)[0] + " from the request" + earlier
}

func onFreshServer(ctx context.Context, key statecodec.Key, request wire.Request) (*wire.Reply, error) {
	rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	server := mcp.NewServer(implementation, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "resolve_work_item"}, options.MultiRound(rt))
	client, err := wire.Connect(ctx, server, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Send(ctx, request)
}
