package boundary

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/stack"
)

// isolation runs the inner layers and the tool on a goroutine of their own. A
// panic could be recovered without one; to survive runtime.Goexit and to leave a
// handler behind at its deadline needs it.
func (b *boundary) isolation(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		ended := isolated(ctx, b, c, next, b.settled)
		return ended.res, ended.err
	}
}

// isolated runs f on a goroutine of its own, under the call's deadline, unless too
// many handlers were left behind. No code of the handler's runs after it returned.
// settle makes an outcome what the client gets, and what the log says of it.
func isolated[T any](ctx context.Context, b *boundary, c *call, f func(context.Context, *call) (T, error), settle settling[T]) outcome[T] {
	r := &isolate[T]{b: b, ctx: ctx, c: c, settle: settle, delivered: make(chan outcome[T], 1)}
	client := c.client()
	if n, refused := b.abandoned.refuses(client, c.countedAs(b.catalog.knows(c))); refused {
		return r.fail(&failure{
			kind:  "unavailable",
			text:  c.subject() + " was not run: this server is waiting for earlier calls of it that do not return.",
			cause: fmt.Sprintf("%d abandoned handlers are still running", n),
		})
	}
	c.limit = b.opts.deadline(c)
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, errDeadline)
	defer cancel()

	go guarded(ctx, c, f, r.end)
	if ended, ok := r.wait(ctx); ok {
		return ended
	}
	as := c.countedAs(c.definition() != nil || b.catalog.knows(c))
	b.abandoned.add(1, client, as)
	left := r.claim(func(late *failure) {
		b.abandoned.add(-1, client, as)
		b.logLate(c, late)
	})
	if !left { // it ended just now
		b.abandoned.add(-1, client, as)
		return <-r.delivered
	}
	return r.fail(overdue(ctx, c))
}

// An isolate is a call whose handler runs on its own goroutine. Either that goroutine ends the
// call or, past the deadline, that of the request: whichever claims it first.
type isolate[T any] struct {
	b      *boundary
	ctx    context.Context // the request's
	c      *call
	settle settling[T]

	claimed   atomic.Bool
	late      func(*failure) // for the end of a handler that was left behind; set by claim
	delivered chan outcome[T]
}

// settling is about how one kind of request ends. There is no record of some.
type settling[T any] func(*call, outcome[T]) (outcome[T], *ending)

// claim makes the request's goroutine the one that ends the call, unless it has ended.
func (r *isolate[T]) claim(late func(*failure)) bool {
	r.late = late
	return r.claimed.CompareAndSwap(false, true)
}

// end is the end of the handler's goroutine, which writes the call's record: to wake another
// one for that would cost more than the record. A logger that hangs keeps the goroutine, and
// not the answer.
func (r *isolate[T]) end(ended outcome[T]) {
	if !r.claimed.CompareAndSwap(false, true) {
		r.late(ended.failed)
		return
	}
	ended, e := r.settle(r.c, ended)
	r.b.logEnd(r.ctx, r.c, e, func() { r.delivered <- ended })
}

// fail ends the call on the request's goroutine.
func (r *isolate[T]) fail(f *failure) outcome[T] {
	ended, e := r.settle(r.c, outcome[T]{failed: f})
	go r.b.logEnd(r.ctx, r.c, e, func() { r.delivered <- ended })
	return <-r.delivered
}

// wait returns the outcome, or false once ctx has ended and the time to settle has
// passed.
func (r *isolate[T]) wait(ctx context.Context) (outcome[T], bool) {
	select {
	case ended := <-r.delivered:
		return ended, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(settlingTime)
	defer timer.Stop()
	select {
	case ended := <-r.delivered:
		return ended, true
	case <-timer.C:
		return outcome[T]{}, false
	}
}

func (b *boundary) logLate(c *call, f *failure) {
	attrs := []slog.Attr{slog.String(c.kind.attr, c.loggedTool()), slog.String("requestId", c.requestID)}
	level := slog.LevelWarn
	if f != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("cause", truncated(f.cause, maxLoggedText)), slog.String("stack", string(f.stack)))
	} else {
		attrs = append(attrs, slog.Float64("durationMs", rendezvous.Milliseconds(time.Since(c.start))))
	}
	b.sink.log(context.Background(), level, "abandoned "+c.kind.attr+" call ended", attrs...)
}

// notified hands on a notification, which has no answer. There is no deadline.
func (b *boundary) notified(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) error {
	ended := alone(ctx, nil, func(ctx context.Context, _ *call) (mcp.Result, error) { return next(ctx, method, req) })
	if ended.failed == nil {
		return ended.err
	}
	b.sink.log(ctx, slog.LevelError, "notification failed",
		slog.String("method", method), slog.String("cause", ended.failed.cause), slog.String("stack", string(ended.failed.stack)))
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: internalErrorText}
}

// An outcome is how a function ended: it returned, or it failed by a panic or
// runtime.Goexit.
type outcome[T any] struct {
	res    T
	err    error
	failed *failure
}

// alone runs f on a goroutine of its own, and waits for it. c may be nil.
func alone[T any](ctx context.Context, c *call, f func(context.Context, *call) (T, error)) outcome[T] {
	done := make(chan outcome[T], 1)
	go guarded(ctx, c, f, func(ended outcome[T]) { done <- ended })
	return <-done
}

// guarded runs f on a fresh goroutine, and calls end there, however f ends.
func guarded[T any](ctx context.Context, c *call, f func(context.Context, *call) (T, error), end func(outcome[T])) {
	stack.Grow[[14 << 10]byte]() // go-sdk's frames are deep
	var ended outcome[T]
	returned := false
	defer func() { end(ended) }()
	defer func() {
		if returned {
			return
		}
		v := recover()
		ended.failed = &failure{kind: "internal", text: internalText(c), cause: "runtime.Goexit", stack: stack.Trace(0)}
		if v != nil {
			ended.failed.cause = fmt.Sprintf("a panic with a %T, which does not print", v)
			ended.failed.cause = "panic: " + printed(v) // the author's code, which may end the goroutine
		}
	}()
	ended.res, ended.err = f(ctx, c)
	returned = true
}

const internalErrorText = "internal error"

// internalText is the client's text about a fault: the panic's value and the stack
// are for the log.
func internalText(c *call) string {
	if c == nil {
		return internalErrorText
	}
	return c.subject() + " failed because of a fault in the server. The arguments are not the reason."
}

// settlingTime is how long a handler whose context has ended may still take to return,
// so that one that respects its context can report its own error.
const settlingTime = 100 * time.Millisecond

// deadlineError is the cause of a context whose deadline was the boundary's.
type deadlineError struct{}

func (deadlineError) Error() string { return "the tool's deadline has passed" }
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }

var errDeadline error = deadlineError{}

// deadline is how long the handler may run for this call. A subscription stays open for
// as long as its client listens.
func (o *Options) deadline(c *call) time.Duration {
	var single map[string]time.Duration
	switch c.kind {
	case toolCall:
		single = o.ToolDeadlines
	case promptCall:
		single = o.PromptDeadlines
	case resourceCall:
		single = o.ResourceDeadlines
	case otherCall:
		if c.tool == "subscriptions/listen" {
			return math.MaxInt64
		}
	}
	if d, ok := single[c.tool]; ok {
		return d
	}
	if c.revision != modern {
		return o.LegacyDeadline
	}
	return o.Deadline
}

// overdue is the failure of a call whose handler did not finish in time, after its
// deadline or after the client cancelled it. It reads the same whether the handler
// heeded its context or not.
func overdue(ctx context.Context, c *call) *failure {
	if context.Cause(ctx) == errDeadline {
		return &failure{
			kind:  "timeout",
			text:  fmt.Sprintf("%s did not finish within %s.", c.subject(), c.limit),
			cause: errDeadline.Error(),
		}
	}
	return &failure{kind: "cancelled", text: fmt.Sprintf("The call of %s %q was cancelled.", c.kind.attr, c.loggedTool()), expected: true, quiet: true, effect: c.unknownEffect()}
}

// abandoned counts the handlers that were left running after their calls ended, by
// tool (or prompt, or resource) and by client. It refuses a call in these cases:
//
//   - The tool has limit handlers left behind. It is refused to everybody.
//   - There are limit in all, or perClient of this client, and this client left one
//     of this tool behind. The tool is refused to this client alone, so that a tool
//     that hangs for one client takes neither that tool nor another from the rest.
//   - The client has left mostPerClient times perClient behind. It is refused
//     everything, or it could go from one resource to the next.
//
// All names that no tool is known by count as one. Otherwise a client could call one
// made-up name after another.
type abandoned struct {
	limit, perClient int

	mu     sync.Mutex // guards counts
	counts map[leaving]int
}

// leaving is the key of a count: of the handlers of one tool that one client left behind. The
// zero value of either stands for all.
type leaving struct {
	client any
	tool   counted
}

const mostPerClient = 4

// counted is the key that a handler is counted under. The name is empty if no tool is
// known by it.
type counted struct {
	kind *kind
	name string
}

func (c *call) countedAs(known bool) counted {
	if c.kind == completionCall || c.kind == toolCall && !known {
		return counted{kind: c.kind} // a server has one handler of completions
	}
	return counted{c.kind, c.tool}
}

// refuses reports whether another call must be refused, and how many abandoned
// handlers there are.
func (a *abandoned) refuses(client any, tool counted) (total int, refused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	total, own := a.counts[leaving{}], a.counts[leaving{client: client}]
	full := total >= a.limit || own >= a.perClient
	return total, a.counts[leaving{nil, tool}] >= a.limit || full && a.counts[leaving{client, tool}] > 0 || own/mostPerClient >= a.perClient
}

// add counts n more handlers, or fewer if n is negative.
func (a *abandoned) add(n int, client any, tool counted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[leaving]int{}
	}
	for _, key := range []leaving{{}, {client: client}, {nil, tool}, {client, tool}} {
		if a.counts[key] += n; a.counts[key] == 0 {
			delete(a.counts, key)
		}
	}
}
