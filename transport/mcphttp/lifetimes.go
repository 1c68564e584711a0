package mcphttp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
	"github.com/mrtr-go/sdk/transport/mcphttp/internal/lean"
)

// requestKey is the key of the context of a request, with which its calls end.
type requestKey struct{}

// endsCalls serves requests with h, and has their calls end with them.
func endsCalls(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context())))
	})
}

// lifetimes let the handlers of a request end with it, for its reason. go-sdk ends those
// of modern requests alone, and may lose the reason: its reader, too, sees that the
// request has ended, and cancels the call with an error of its own. A middleware finds
// the request of a call: without a session in the values of its context, and in a session
// by the post that a header names.
type lifetimes struct {
	posts posts
	mu    sync.Mutex
	bound map[weak.Pointer[mcp.Server]]bool // guarded by mu: the servers that have the middleware
}

// life is that of all handlers of the process. Several of them may stand in front of one
// server, which has the middleware once.
var life = lifetimes{bound: map[weak.Pointer[mcp.Server]]bool{}}

// bind binds the calls of each server that getServer names to their requests, once, and
// orders what their clients are told of them.
func (t *lifetimes) bind(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	return func(r *http.Request) *mcp.Server {
		server := getServer(unnamed(r))
		if server != nil {
			rendezvous.OrderProgress(server)
			t.install(server)
		}
		return server
	}
}

func (t *lifetimes) install(server *mcp.Server) {
	p := weak.Make(server)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bound[p] {
		return
	}
	t.bound[p] = true
	runtime.AddCleanup(server, t.forget, p)
	server.AddSendingMiddleware(keepsCalls)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if strings.HasPrefix(method, "notifications/") {
				return next(ctx, method, req)
			}
			p, named := t.posts.of(req)
			if !named { // without a session its context is that of its POST
				p, _ = ctx.Value(postKey{}).(*post)
				if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
					sdk := ctx
					ended, done := endingWith(sdk, func() error { return cmp.Or(context.Cause(request), context.Cause(sdk)) }, request, sdk)
					defer done()
					ctx = ended
				}
				return p.keep(ctx, func() (mcp.Result, error) { return next(ctx, method, req) })
			}
			ctx, done, err := p.begin(ctx)
			if err != nil {
				return nil, err
			}
			defer done()
			return p.keep(ctx, func() (mcp.Result, error) {
				return p.run(method, func() (mcp.Result, error) { return next(ctx, method, req) })
			})
		}
	})
}

// keepsCalls keeps the sessions of a server with KeepAlive whose clients cannot be pinged:
// those of modern requests, those without sessions, and those that hold no stream open.
// Without a session there is nothing to try, and a ping that is not tried cannot run out of
// time on a busy machine.
func keepsCalls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "ping" && req.GetSession().ID() == "" {
			return nil, message.ErrUnpingable
		}
		result, err := next(ctx, method, req)
		if method == "ping" {
			err = message.Unpinged(err)
		}
		return result, err
	}
}

func (t *lifetimes) forget(p weak.Pointer[mcp.Server]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bound, p)
}

// postHeader names the post of a request of a session to the middleware of its
// calls. Their contexts come from the request that opened the session, and the
// headers are all that go-sdk hands on from their own.
const postHeader = "Mrtr-Post"

type postKey struct{}

// post is one POST. Its calls are in flight until their handlers have returned.
type post struct {
	free   []func(calls int) // give back the places of calls
	forget []func()          // called when no handler will run any more

	ids  []jsonrpc.ID     // of its calls, in a session; set with its place there
	call *inflight.Repeat // set before it runs; nil if it is not kept

	// All guarded by mu.
	mu      sync.Mutex
	running map[*context.CancelCauseFunc]struct{}
	cause   error // of the end of its calls; nil if they were not cancelled
	over    bool  // the POST has returned
	began   bool  // a handler
	outcome outcome
}

// status is that of a response with a refusal, 0 if its call was not refused: that of a
// [StatusError], or one which says that the server shuts down and another instance may take
// the request. A session has no other instance.
func (p *post) status(header http.Header, session bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var own *StatusError
	var refusal *jsonrpc.Error
	switch {
	case errors.As(p.outcome.err, &own):
		maps.Copy(header, own.Header)
		return own.Status
	case !session && errors.As(p.outcome.err, &refusal) && inflight.TurnsAway(refusal):
		inflight.Refuse(header)
		return http.StatusServiceUnavailable
	}
	return 0
}

// A StatusError is an error of a server's middleware that goes out with a status and headers
// of HTTP, such as a challenge to a client whose token does not suffice.
type StatusError struct {
	Err    error // as the client gets it
	Status int
	Header http.Header
}

func (e *StatusError) Error() string { return e.Err.Error() }
func (e *StatusError) Unwrap() error { return e.Err }

// outcome is what a handler has returned.
type outcome struct {
	known  bool
	result mcp.Result
	err    error
}

// keep runs a handler and keeps its outcome, which goes out even if a shutdown has ended the
// POST meanwhile.
func (p *post) keep(ctx context.Context, handler func() (mcp.Result, error)) (mcp.Result, error) {
	if p == nil {
		return handler()
	}
	p.mu.Lock()
	p.began = true
	p.mu.Unlock()
	result, err := handler()
	o := outcome{true, result, err}
	if context.Cause(ctx) == ErrShuttingDown && o.isCut() {
		o = outcome{true, nil, inflight.ErrCutOff}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome = o
	return o.result, o.err
}

var errNoResult = errors.New("the handler did not return")

// run runs the handler of a call, and keeps its answer for a POST that makes it again.
func (p *post) run(method string, handler func() (mcp.Result, error)) (result mcp.Result, err error) {
	if p.call == nil {
		return handler()
	}
	if !p.call.Enter() {
		return nil, inflight.ErrNotRun
	}
	err = errNoResult
	defer func() {
		body, _ := lean.Answer(p.call.ID, method, result, err, false) // without a body it is not kept
		var own *StatusError
		p.call.End(body, inflight.Did(err) && !errors.As(err, &own))
	}()
	return handler()
}

// isCut reports whether a handler has nothing to say but that it was cancelled. An error whose
// own methods panic says something else.
func (o outcome) isCut() (cut bool) {
	defer func() { _ = recover() }()
	err := o.err
	if result, _ := o.result.(*mcp.CallToolResult); result != nil && err == nil {
		err = result.GetError()
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, ErrShuttingDown)
}

// begin counts a handler until the function it returns is called. A handler that comes
// when the POST is over is not counted any more, and must not run. A nil post is over.
func (p *post) begin(ctx context.Context) (context.Context, func(), error) {
	if p == nil {
		return ctx, nil, ErrHungUp
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cause != nil:
		return ctx, nil, p.cause
	case p.over:
		return ctx, nil, ErrHungUp
	case p.running == nil:
		p.running = map[*context.CancelCauseFunc]struct{}{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.running[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, &cancel)
		if p.over {
			p.leave(1)
		}
	}, nil
}

// cancel cancels the handlers that run, and those that have not begun. It names no call by
// its id, which the client may be using again by now.
func (p *post) cancel(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cause = cause
	for cancel := range p.running {
		(*cancel)(cause)
	}
}

// end gives back the places of the calls whose handlers have returned. The others give
// theirs back themselves.
func (p *post) end(calls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.leave(calls - len(p.running))
}

func (p *post) leave(calls int) {
	for _, free := range p.free {
		free(calls)
	}
	if len(p.running) > 0 {
		return
	}
	for _, forget := range p.forget {
		forget()
	}
}

// posts are those of sessions, by the value of postHeader.
type posts struct{ sync.Map }

// name returns the request with the header that names its post.
func (ps *posts) name(r *http.Request, p *post) *http.Request {
	key := rand.Text()
	ps.Store(key, p)
	p.forget = append(p.forget, func() { ps.Delete(key) })
	named := r.Clone(r.Context())
	named.Header.Set(postHeader, key)
	return named
}

// unnamed is the request without that header, as its sender made it.
func unnamed(r *http.Request) *http.Request {
	if r.Header.Get(postHeader) == "" {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Del(postHeader)
	return r
}

// of finds the post of a call, and takes the header off it. The post is nil if it is over.
func (ps *posts) of(req mcp.Request) (p *post, named bool) {
	extra := req.GetExtra()
	if extra == nil || extra.Header.Get(postHeader) == "" {
		return nil, false
	}
	found, _ := ps.Load(extra.Header.Get(postHeader))
	extra.Header = extra.Header.Clone() // the calls of a batch share it
	extra.Header.Del(postHeader)
	p, _ = found.(*post)
	return p, true
}

// The causes with which a [Handler] ends the context of a call, see [context.Cause].
var (
	// ErrHungUp: the client of the call closed its connection.
	ErrHungUp = errors.New("mcphttp: the client hung up")
	// ErrShuttingDown: the call took longer than [Handler.Shutdown] had time.
	ErrShuttingDown = errors.New("mcphttp: the server is shutting down")
)

// whyOver is the cause with which the calls of a request end: over has ended, or the
// client hung up. It is nil if neither has happened.
func whyOver(request, over context.Context) error {
	if over.Err() != nil {
		return ErrShuttingDown
	}
	cause := context.Cause(request)
	if errors.Is(cause, context.Canceled) { // which is all that net/http says
		return ErrHungUp
	}
	return cause
}

// endingWith returns a context with the values and the deadline of ctx that ends with the
// first of the given ones. Why it ended is asked for then.
func endingWith(ctx context.Context, why func() error, ends ...context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	ctx, stop := context.WithoutCancel(ctx), func() {}
	if bounded {
		ctx, stop = context.WithDeadline(ctx, deadline)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := make([]func() bool, len(ends))
	for i, end := range ends {
		unhook[i] = context.AfterFunc(end, func() { cancel(why()) })
		if end.Err() != nil { // whoever gets the context sees at once that it is over
			cancel(why())
		}
	}
	return ctx, func() {
		for _, unhook := range unhook {
			unhook()
		}
		cancel(why()) // the functions above may not have come to it yet
		stop()
	}
}
