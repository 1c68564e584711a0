package mrtr

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// askLegacy plays the modern client's part for a legacy client: it puts the questions over the
// session, and makes the next round with the answers and the state. It knows nothing of rounds
// beyond that. Where a user gives no answer, it makes one request more, whose context has
// ended with that as its cause.
func (f *front[In, Out]) askLegacy(ctx context.Context, ex exchange, in In) (complete[Out], asks, error) {
	rounds := sse.NewRounds(ex.client, ex.session(), ex.request.GetParams().(mcp.RequestParams), f.rt.bridge)
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
		answered := f.rt.asking.begins(&ex, began)
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

// asking is the set of legacy calls whose users are being asked.
type asking struct {
	mu    sync.Mutex
	calls map[*listen.Waiting]time.Time // since when
}

// begins adds a call to the set, until answered is called.
func (a *asking) begins(ex *exchange, since time.Time) (answered func()) {
	w := &listen.Waiting{Method: ex.method, Name: ex.nameInLog(), Era: ex.client.Era, Way: listen.WayLegacy}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = map[*listen.Waiting]time.Time{}
	}
	a.calls[w] = since
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.calls, w)
	}
}

// maxAnswerOver bounds an answer that AskOver gets, which no state has to hold.
const maxAnswerOver = 16 << 10

// AskOver asks over the session of a legacy client, and waits. An [Error] ends the call, such as
// after a decline. A session that fails gives an [sse.Error].
func (q Question[T]) AskOver(ctx context.Context, s *mcp.ServerSession) (v T, _ error) {
	if q.known != nil {
		return *q.known, nil
	}
	if err := q.Err(); err != nil {
		return v, err
	}
	p := pending{spec: q.spec}
	if d := q.spec.patience(); d > 0 {
		p.lapses = time.Now().Add(d).UnixMilli()
	}
	client, known := ctx.Value(clientKey{}).(era.Client)
	if !known {
		client = era.OfSession(s)
	}
	ctx = rendezvous.CollectMisfits(ctx)
	for !p.settled() {
		if err := p.askOver(ctx, s, client); err != nil {
			return v, err
		}
	}
	return decodeAnswer[T](p.answer, p.key)
}

// askOver puts the question to a legacy client once.
func (p *pending) askOver(ctx context.Context, s *mcp.ServerSession, client era.Client) error {
	request, err := p.request(p.note)
	if err != nil {
		return err
	}
	o := &sse.BridgeOptions{}
	if p.lapses != 0 {
		o.AnswerTimeout = max(time.Until(time.UnixMilli(p.lapses)), time.Nanosecond)
	}
	var answers mcp.InputResponseMap
	if client.Era == era.Legacy && !client.Declared(p.kind.capability()) { // Options.Narrow may have taken it away
		err = &sse.Error{Reason: sse.Undeclared, Key: p.key}
	} else {
		answers, err = sse.Ask(ctx, s, mcp.InputRequestMap{p.key: request}, o)
	}
	if err != nil {
		err = p.standIn(err)
		p.tellOver(ctx, nil, err)
		return err
	}
	if p.form != nil { // the other kinds of question have none
		form.Keep(p.schema, p.form)
	}
	err = p.judge(ctx, answers[p.key], maxAnswerOver)
	if answers[p.key] != nil {
		p.tellOver(ctx, answers[p.key], err)
	}
	return err
}

// standIn settles a question whose deadline has passed, and a lenient one that its client
// cannot be asked. Any other failure ends the call.
func (p *pending) standIn(err error) error {
	var failed *sse.Error
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Reason == sse.TimedOut && p.lapses != 0:
		return p.lapse()
	case failed.Reason != sse.Undeclared && failed.Reason != sse.Unreachable:
		return err
	case p.lenient:
		p.answer = p.outcome(notAsked)
		return nil
	case failed.Reason == sse.Unreachable:
		return cannotBeAsked(p.key, needsSession)
	}
	return cannotBeAsked(p.key, p.kind.capability().String())
}

// tellOver tells the listener of the call how a question was answered.
func (p *pending) tellOver(ctx context.Context, response mcp.InputResponse, err error) {
	l, ok := ctx.Value(ledgerKey{}).(*ledger)
	if !ok {
		return
	}
	how := p.howAnswered(response, err)
	switch {
	case p.how == listen.HowSilence:
		how = listen.HowSilence
	case response == nil && (err != nil || p.settled()):
		how = listen.HowNotAsked
	}
	if how != "" {
		l.report(p.spec, how)
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
				return nil, asProtocolError(ctx, err)
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
	for _, t := range rt.registrations.ofName(ex.name) {
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
