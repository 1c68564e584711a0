package sse

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/snapshot"
)

// answers are the part of a request that a retry replaces.
type answers struct {
	responses mcp.InputResponseMap
	state     string
}

// needs are the questions and the state of a handler's result. Nil questions mean
// that it is final, as they do to go-sdk.
type needs struct {
	questions mcp.InputRequestMap
	state     string
	content   bool
}

// run enters the handler until its result is final, and returns that. The first
// round carries the answers and state of the request itself: a client that sends
// some is for the handler to judge, in any era.
func run[P mcp.RequestParams, R any](ctx context.Context, o BridgeOptions, req *mcp.ServerRequest[P], m method[P, R], h func(context.Context, *mcp.ServerRequest[P]) (R, error)) (res R, failed *Error, err error) {
	r := &rounds{ctx: ctx, options: o, client: era.ClientOf(req), asker: &asker{
		session:   req.Session,
		options:   o,
		token:     req.Params.GetProgressToken(),
		urlAskIDs: map[string]string{},
	}}
	next := m.answers(req.Params)
	next.responses = snapshot.Of(next.responses)
	for {
		res, err = h(ctx, &mcp.ServerRequest[P]{Session: req.Session, Params: m.retry(req.Params, next), Extra: copyExtra(req.Extra)})
		if err != nil {
			return res, nil, err
		}
		n := m.needs(res)
		if n.questions == nil {
			return res, nil, nil
		}
		if next, failed = r.meet(n); failed != nil {
			return res, failed, nil
		}
	}
}

// rounds plays the modern client for one call.
type rounds struct {
	ctx         context.Context
	options     BridgeOptions
	client      era.Client
	asker       *asker
	asked, idle int // rounds so far that asked something, and that asked nothing
}

// meet asks everything that one round needs.
func (r *rounds) meet(n needs) (answers, *Error) {
	next := answers{state: n.state}
	if r.ctx.Err() != nil {
		return next, interrupted(r.ctx)
	}
	if n.content {
		return next, &Error{Reason: Malformed, text: "the handler returned content and questions in one result"}
	}
	if len(n.questions) == 0 {
		if r.idle++; r.idle > r.options.MaxStateRounds {
			return next, &Error{Reason: Endless, text: fmt.Sprintf("the handler asked to be called again without a question more than %d times", r.options.MaxStateRounds)}
		}
		return next, nil
	}
	if r.asked++; r.asked > r.options.MaxRounds {
		return next, &Error{Reason: Endless, text: fmt.Sprintf("the handler asked in more than %d rounds", r.options.MaxRounds)}
	}
	for key, q := range n.questions {
		if err := canAnswer(r.client, key, q); err != nil {
			return next, err
		}
	}
	responses, failed := r.asker.ask(r.ctx, n.questions)
	if len(responses) > 0 {
		next.responses = responses
	}
	return next, failed
}

func copyExtra(extra *mcp.RequestExtra) *mcp.RequestExtra {
	if extra == nil {
		return nil
	}
	e := *extra
	e.Header = extra.Header.Clone()
	return &e
}

func interrupted(ctx context.Context) *Error {
	return &Error{Reason: Interrupted, Err: context.Cause(ctx), text: "the call was interrupted"}
}
