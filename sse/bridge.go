// Package sse lets legacy clients use any handler written for revision 2026-07-28
// of the Model Context Protocol or a later one. A legacy client is one that speaks
// an earlier revision.
//
// Since 2026-07-28 a handler that needs something from the user returns an
// input-required result and is called again with the answers. A legacy client
// cannot do that: it expects to be asked over its open stream, in the middle of
// the call. go-sdk helps such a client through one extra round and then sends it
// the second round's questions as if they were the result.
//
// [Bridge] corrects that. It wraps any go-sdk tool, prompt or resource handler,
// and on a legacy request plays the modern client's part itself: it puts the
// questions over the session, calls the handler again with the answers and the
// state, and goes on for as many rounds as the handler takes. On a modern
// request it calls the handler and does nothing else.
//
// Outside of this module the package needs go-sdk and the standard library alone, and
// it does not import package mrtr.
package sse

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/sse/era"
)

// Bridge makes a typed tool handler serve legacy clients in full, in as many
// rounds as it takes. It goes outside whatever seals and checks the handler's
// state, and inside [mcp.AddTool]:
//
//	mcp.AddTool(server, tool, sse.Bridge(handler, nil))
//
// On a modern request it calls h and does nothing else. On any other it calls h
// with a fresh copy of the request and the input; while h returns an
// input-required result, it asks the client everything that result asks, all at
// once, and calls h again the way a modern client would have: with this round's
// answers in place of the last round's, and the state byte for byte. Changes that
// h makes to its request or input are gone in the next round.
//
// The answers that h gets:
//
//   - an accept, a decline or a cancel: the client's [mcp.ElicitResult];
//   - sampling: an [mcp.CreateMessageWithToolsResult], as on the modern path;
//   - roots: an [mcp.ListRootsResult];
//   - content that breaks the schema of its question: no entry under that key.
//     go-sdk refuses such content and drops it, and an accept without content
//     would claim an answer that nobody gave. Handlers ask again for a missing
//     answer anyway.
//
// A round without any answer leaves InputResponses nil, since that is how an
// empty map arrives from a modern client.
//
// The last result of h, an error included, is returned as it is. If the
// questions cannot be answered, the call ends with an [*Error]. Bridge panics with a
// [*UsageError] on bad options, and so do the other Bridge functions.
func Bridge[In, Out any](h mcp.ToolHandlerFor[In, Out], opts *BridgeOptions) mcp.ToolHandlerFor[In, Out] {
	o := opts.mustResolve()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req, in)
		}
		return bridgeTyped(ctx, o, req, in, h)
	}
}

// bridgeTyped is a function of its own so that the modern path does not pay for
// the variables that escape here.
func bridgeTyped[In, Out any](ctx context.Context, o BridgeOptions, req *mcp.CallToolRequest, in In, h mcp.ToolHandlerFor[In, Out]) (*mcp.CallToolResult, Out, error) {
	var out, none Out
	res, err := run(ctx, o, req, func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		res, out, err = h(ctx, req, snapshot.Of(in))
		return res, err
	}, func(failed *Error) (*mcp.CallToolResult, error) {
		out = none
		return nil, failed
	})
	return res, out, err
}

// BridgeTool is [Bridge] for a raw tool handler. If the questions cannot be
// answered, the call ends with an error result, and [mcp.CallToolResult.GetError]
// gives the [*Error].
func BridgeTool(h mcp.ToolHandler, opts *BridgeOptions) mcp.ToolHandler {
	return bridge(h, opts, func(failed *Error) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{}
		res.SetError(failed)
		return res, nil
	})
}

// BridgePrompt is [Bridge] for a prompt handler. If the questions cannot be
// answered, it returns an error that is both an [*Error] and a JSON-RPC error.
func BridgePrompt(h mcp.PromptHandler, opts *BridgeOptions) mcp.PromptHandler {
	return bridge(h, opts, protocolError[*mcp.GetPromptResult])
}

// BridgeResource is [Bridge] for a resource handler, and fails as
// [BridgePrompt] does.
func BridgeResource(h mcp.ResourceHandler, opts *BridgeOptions) mcp.ResourceHandler {
	return bridge(h, opts, protocolError[*mcp.ReadResourceResult])
}

// protocolError gives an Error its code, on its way out of a handler that has no
// error result.
func protocolError[R any](failed *Error) (none R, err error) {
	if failed.ToolErrorExpected() {
		return none, callerror.Stopped(failed, failed.ToolErrorType())
	}
	return none, callerror.Fault(failed, failed.ToolErrorType())
}

func bridge[P mcp.RequestParams, R any](h func(context.Context, *mcp.ServerRequest[P]) (R, error), opts *BridgeOptions, fail func(*Error) (R, error)) func(context.Context, *mcp.ServerRequest[P]) (R, error) {
	o := opts.mustResolve()
	return func(ctx context.Context, req *mcp.ServerRequest[P]) (R, error) {
		if era.Of(req) == era.Modern {
			return h(ctx, req)
		}
		return run(ctx, o, req, h, fail)
	}
}

// run enters the handler until its result is final, and returns that, or what fail makes
// of questions that cannot be answered. The first round carries the answers and state of the request itself: a client that sends
// some is for the handler to judge, in any era.
func run[P mcp.RequestParams, R any](ctx context.Context, o BridgeOptions, req *mcp.ServerRequest[P], h func(context.Context, *mcp.ServerRequest[P]) (R, error), fail func(*Error) (R, error)) (R, error) {
	rounds := newRounds(o, era.ClientOf(req), req.Session, req.Params.GetProgressToken())
	params := snapshot.Of(req.Params)
	ctx = rendezvous.CollectMisfits(ctx)
	for {
		entry := &mcp.ServerRequest[P]{Session: req.Session, Params: params}
		if req.Extra != nil {
			extra := *req.Extra
			extra.Header = req.Extra.Header.Clone()
			entry.Extra = &extra
		}
		res, err := h(ctx, entry)
		if err != nil {
			return res, err
		}
		questions, state, content := needsOf(res)
		switch {
		case questions == nil: // that is a final result to go-sdk too
			return res, nil
		case content:
			return fail(&Error{Reason: Malformed, text: "the handler returned content and questions in one result"})
		}
		answers, err := rounds.Ask(ctx, questions, nil)
		if err != nil {
			return fail(err.(*Error))
		}
		params = snapshot.Of(req.Params)
		carry(params, answers, state)
	}
}

// needsOf reads the part of a result that asks, and whether it has content beside that.
func needsOf(result any) (questions mcp.InputRequestMap, state string, content bool) {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		if r != nil {
			return r.InputRequests, r.RequestState, len(r.Content) > 0 || r.StructuredContent != nil
		}
	case *mcp.GetPromptResult:
		if r != nil {
			return r.InputRequests, r.RequestState, len(r.Messages) > 0
		}
	case *mcp.ReadResourceResult:
		if r != nil {
			return r.InputRequests, r.RequestState, len(r.Contents) > 0
		}
	}
	return nil, "", false
}

// carry replaces the answers and the state of a request, as a retry does.
func carry(params any, answers mcp.InputResponseMap, state string) {
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		p.InputResponses, p.RequestState = answers, state
	case *mcp.GetPromptParams:
		p.InputResponses, p.RequestState = answers, state
	case *mcp.ReadResourceParams:
		p.InputResponses, p.RequestState = answers, state
	}
}

// UsageError is a mistake in the options of this package. [Ask] returns it, and the
// Bridge functions panic with it, because they stand where a program is put
// together, beside [mcp.AddTool], which panics on a bad tool.
type UsageError = usage.Error

// BridgeOptions configure a bridge. The zero value, and nil, mean the defaults.
// A negative value is a [*UsageError].
type BridgeOptions struct {
	// MaxRounds bounds the rounds that ask something; 9 if zero, because that is
	// as far as go-sdk's own modern client follows.
	MaxRounds int
	// MaxStateRounds bounds the rounds that ask nothing and only hand a state
	// back to be called again; 2 if zero, for the same reason.
	MaxStateRounds int
	// AnswerTimeout bounds the wait for the answer to one question; 10 minutes if
	// zero. The questions of a round wait side by side.
	AnswerTimeout time.Duration
	// ProgressInterval is how often, while questions wait, a client that gave a
	// progress token hears that its call is alive; 15 seconds if zero.
	ProgressInterval time.Duration
}

func (o *BridgeOptions) resolve() (BridgeOptions, error) {
	var r BridgeOptions
	if o != nil {
		r = *o
	}
	u := usage.Of("sse", "BridgeOptions")
	usage.Default(u, "MaxRounds", &r.MaxRounds, 9)
	usage.Default(u, "MaxStateRounds", &r.MaxStateRounds, 2)
	usage.Default(u, "AnswerTimeout", &r.AnswerTimeout, 10*time.Minute)
	usage.Default(u, "ProgressInterval", &r.ProgressInterval, 15*time.Second)
	return r, u.Err()
}

// mustResolve panics where resolve returns an error.
func (o *BridgeOptions) mustResolve() BridgeOptions {
	r, err := o.resolve()
	if err != nil {
		panic(err)
	}
	return r
}
