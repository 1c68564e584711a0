package sse

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/snapshot"
)

// answers is what a retry carries back into the handler.
type answers struct {
	responses mcp.InputResponseMap
	state     string
}

// needs is what a handler's result asks for. Nil questions mean that it is
// final; go-sdk draws the line in the same place.
type needs struct {
	questions mcp.InputRequestMap
	state     string
	content   bool
}

// rounds plays the modern client for one call.
type rounds struct {
	ctx     context.Context
	options BridgeOptions
	client  era.Client
	asker   *asker
}

func newRounds[P mcp.RequestParams](ctx context.Context, req *mcp.ServerRequest[P], o BridgeOptions) *rounds {
	return &rounds{
		ctx:     ctx,
		options: o,
		client:  era.ClientOf(req),
		asker: &asker{
			session:   req.Session,
			options:   o,
			token:     req.Params.GetProgressToken(),
			urlAskIDs: map[string]string{},
		},
	}
}

// run enters the handler until its result is final, which is then the caller's
// to return. The first round carries what the request itself carried: a client
// that sends answers and state of its own is the handler's to judge, in any era.
func (r *rounds) run(first mcp.InputResponseMap, state string, enter func(answers) needs) *Error {
	next := answers{snapshot.Of(first), state}
	asked, idle := 0, 0
	for {
		n := enter(next)
		if n.questions == nil {
			return nil
		}
		if r.ctx.Err() != nil {
			return interrupted(r.ctx)
		}
		if n.content {
			return &Error{Reason: Malformed, text: "the handler returned content and questions in one result"}
		}
		next = answers{state: n.state}
		if len(n.questions) == 0 {
			if idle++; idle > r.options.MaxStateRounds {
				return &Error{Reason: Endless, text: fmt.Sprintf("the handler asked to be called again without a question more than %d times", r.options.MaxStateRounds)}
			}
			continue
		}
		if asked++; asked > r.options.MaxRounds {
			return &Error{Reason: Endless, text: fmt.Sprintf("the handler asked in more than %d rounds", r.options.MaxRounds)}
		}
		for key, q := range n.questions {
			if err := canAnswer(r.client, key, q); err != nil {
				return err
			}
		}
		responses, err := r.asker.ask(r.ctx, n.questions)
		if err != nil {
			return err
		}
		if len(responses) > 0 {
			next.responses = responses
		}
	}
}

func interrupted(ctx context.Context) *Error {
	return &Error{Reason: Interrupted, Err: context.Cause(ctx), text: "the call was interrupted"}
}
