package mrtr

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/mrtr/internal/lifecycle"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// askLegacy plays the modern client's part for a legacy client: it puts the questions over the
// session, and makes the next round with the answers and the state. It knows nothing of rounds
// beyond that. Where a user gives no answer, it makes one request more, whose context has
// ended with that as its cause.
func (f *front[In, Out]) askLegacy(ctx context.Context, ex exchange, in In) (complete[Out], asks, error) {
	rounds := sse.NewRounds(ex.client, ex.session(), ex.request.GetParams().(mcp.RequestParams), f.rt.opts.Bridge)
	ctx, ex.asked = rendezvous.CollectMisfits(ctx), true
	for {
		own := in
		if f.mutable {
			own = snapshot.Of(in)
		}
		done, questions, err := f.round(ctx, ex, own)
		if err != nil || questions.requests == nil {
			return done, asks{}, err
		}
		began := time.Now()
		answered := f.rt.asking().Begin(listen.Waiting{Method: ex.method, Name: ex.nameInLog(), Era: ex.client.Era, Way: listen.WayLegacy}, began)
		ex.answers, err = rounds.Ask(ctx, questions.requests, questions.until)
		answered()
		ex.token, ex.waited = questions.token, time.Since(began)
		if err != nil {
			ended, cancel := context.WithCancelCause(ctx)
			cancel(userGone{err})
			done, _, err := f.round(ended, ex, in)
			return done, asks{}, err
		}
	}
}

// userGone is the cause that ends the call of a user who cannot be asked, or never answered.
type userGone struct{ error }

func (u userGone) Unwrap() error   { return u.error }
func (u userGone) EndsCall() error { return u.error }

// asking is the service of the runtime's legacy calls.
func (rt *Runtime) asking() *lifecycle.Asking {
	return rt.services.Of(askingKey{}, func() keep.Service { return &lifecycle.Asking{} }).(*lifecycle.Asking)
}

type askingKey struct{}

// AskOver asks over the session of a legacy client, and waits. An [Error] ends the call, such as
// after a decline. A session that fails gives an [sse.Error].
func (q Question[T]) AskOver(ctx context.Context, s *mcp.ServerSession) (v T, _ error) {
	if q.known != nil {
		return *q.known, nil
	}
	if err := q.Err(); err != nil {
		return v, err
	}
	client, known := ctx.Value(clientKey{}).(era.Client)
	if !known {
		client = era.OfSession(s)
	}
	l, _ := ctx.Value(ledgerKey{}).(*ledger)
	ctx = rendezvous.CollectMisfits(ctx)
	for p := question.Open(q.spec); ; {
		how, err := p.AskOver(ctx, s, client)
		if how != "" && l != nil {
			l.report(q.spec, how)
		}
		switch {
		case err != nil:
			return v, endOfQuestion(err)
		case p.Answered():
			return decodeAnswer[T](p.Answer, p.Key)
		}
	}
}

// narrow applies [Options.Narrow] to the client of an exchange, before anything else looks at
// it. The context hands the client to code that asks over its session.
func (rt *Runtime) narrow(ctx context.Context, ex *exchange, t *target) (context.Context, error) {
	client, err := rt.narrowed(ex.client, ex.request)
	if err != nil {
		r := newRound(t, *ex)
		r.life = ctx
		r.refusedWith(ctx, r.reject(listen.RefusedRequest, "Options.Narrow panicked", err, err))
		return ctx, err
	}
	ex.client = client
	return context.WithValue(ctx, clientKey{}, client), nil
}

// narrowed is a client as [Options.Narrow] leaves it.
func (rt *Runtime) narrowed(client era.Client, req mcp.Request) (era.Client, error) {
	if rt.opts.Narrow == nil {
		return client, nil
	}
	err := guard(func() error {
		client = client.Narrowed(rt.opts.Narrow((&listen.Round{Request: req}).ClientInfo(), client))
		return nil
	})
	return client, safeError(err)
}

// HideUnaskable leaves out of each tools/list the tools whose every call asks what the client
// can't be asked (see HandlerOptions.Needs). They can still be called. Call it once for a server,
// after boundary.Install.
func (rt *Runtime) HideUnaskable(server *mcp.Server) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, isList := res.(*mcp.ListToolsResult)
			asks, _ := req.(*mcp.ListToolsRequest)
			if err != nil || !isList || list == nil || asks == nil {
				return res, err
			}
			client, err := rt.narrowed(era.ClientOf(asks), req)
			if err != nil {
				return nil, report.AsProtocol(ctx, err)
			}
			own := *list // the server's own stays whole
			own.Tools = slices.DeleteFunc(append([]*mcp.Tool{}, list.Tools...), func(tool *mcp.Tool) bool {
				return tool != nil && rt.hides(ctx, exchange{method: method, name: tool.Name, client: client, request: req})
			})
			if own.CacheScope == "public" {
				own.CacheScope = "private"
			}
			return &own, nil
		}
	})
}

// hides reports whether no handler of a tool could ask this client, and tells the listener.
func (rt *Runtime) hides(ctx context.Context, ex exchange) bool {
	var r *round
	var unaskable error
	for _, t := range rt.registrations.Named(ex.name) {
		r = newRound(t, ex)
		if _, unaskable = r.unaskable(); unaskable == nil {
			return false
		}
	}
	if unaskable == nil {
		return false
	}
	reason := unaskable.Error()
	if wire := (*jsonrpc.Error)(nil); errors.As(unaskable, &wire) {
		reason += ": " + string(wire.Data)
	}
	r.life = ctx
	r.locked(func() { r.hear(listen.Entry{Kind: listen.Hidden, Key: ex.name, Reason: reason}) })
	return true
}
