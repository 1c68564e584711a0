package boundary

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// settle is how long a handler whose context has ended may still take to return.
// One that minds its context gets to say its own last words.
const settle = 100 * time.Millisecond

var errDeadline = errors.New("the tool's deadline has passed")

// isolation runs what is inside on a goroutine of its own. Recovering a panic
// would not need one; outliving runtime.Goexit and leaving a handler behind do.
func (b *boundary) isolation(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		if n, refused := b.abandoned.refuses(countedAs(c.tool, b.catalog.lists(c.tool))); refused {
			return c.fail(b, &problem{
				kind:  "unavailable",
				text:  fmt.Sprintf("Tool %q was not run: this server is waiting for earlier calls of it that do not return.", c.tool),
				cause: fmt.Sprintf("%d abandoned handlers are still running", n),
			}), nil
		}
		limit := b.opts.deadline(c)
		var cancel context.CancelFunc
		if limit > 0 {
			ctx, cancel = context.WithTimeoutCause(ctx, limit, errDeadline)
		} else {
			ctx, cancel = context.WithCancel(ctx)
		}
		defer cancel()

		run := start(func() (*mcp.CallToolResult, error) { return next(ctx, c) })
		e, returned := run.wait(ctx)
		if !returned {
			as := countedAs(c.tool, c.definition() != nil)
			b.abandoned.add(as)
			run.whenDone(func(late ending[*mcp.CallToolResult]) {
				b.abandoned.done(as)
				b.logLate(c, late)
			})
			return c.fail(b, overdue(ctx, c, limit)), nil
		}
		if p := e.problem(c.tool); p != nil {
			return c.fail(b, p), nil
		}
		return e.res, e.err
	}
}

func overdue(ctx context.Context, c *call, limit time.Duration) *problem {
	if context.Cause(ctx) == errDeadline {
		return &problem{
			kind:  "timeout",
			text:  fmt.Sprintf("Tool %q did not finish within %s.", c.tool, limit),
			cause: errDeadline.Error(),
		}
	}
	return &problem{kind: "cancelled", text: fmt.Sprintf("The call of tool %q was cancelled.", c.tool), expected: true, quiet: true, effect: c.unknownEffect()}
}

func (b *boundary) logLate(c *call, late ending[*mcp.CallToolResult]) {
	if p := late.problem(c.tool); p != nil {
		b.opts.Logger.Error("abandoned tool call ended", "tool", c.loggedTool(), "requestId", c.requestID, "cause", clipped(p.cause, maxLoggedText), "stack", string(p.stack))
		return
	}
	b.opts.Logger.Warn("abandoned tool call ended", "tool", c.loggedTool(), "requestId", c.requestID, "durationMs", milliseconds(time.Since(c.start)))
}

// contain keeps the panics of everything that is not a tool call: a prompt, a
// resource, a notification's handler. There is no deadline, since
// subscriptions/listen waits for as long as its client does.
func (b *boundary) contain(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	run := start(func() (mcp.Result, error) { return next(ctx, method, req) })
	e := <-run.done
	p := e.problem(method)
	if p == nil && e.err == nil && isNil(e.res) && !isNotification(method) {
		p = &problem{cause: errNoResult.Error()}
	}
	if p == nil {
		return e.res, e.err
	}
	b.opts.Logger.LogAttrs(ctx, slog.LevelError, "request failed",
		slog.String("method", method), slog.String("cause", p.cause), slog.String("stack", string(p.stack)))
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}

// A running is a function on its own goroutine; an ending is how it ended.
type running[T any] struct {
	done  chan ending[T]
	state atomic.Int32 // 0 running, 1 ended, 2 abandoned
	late  func(ending[T])
}

type ending[T any] struct {
	res      T
	err      error
	panicked bool
	value    any
	exited   bool
	stack    []byte
}

func start[T any](f func() (T, error)) *running[T] {
	r := &running[T]{done: make(chan ending[T], 1)}
	go func() {
		e := ending[T]{exited: true} // until f returns
		defer func() {
			if e.exited {
				if v := recover(); v != nil {
					e = ending[T]{panicked: true, value: v}
				}
				e.stack = debug.Stack()
			}
			r.done <- e
			if !r.state.CompareAndSwap(0, 1) {
				r.late(e)
			}
		}()
		growStack()
		res, err := f()
		e = ending[T]{res: res, err: err}
	}()
	return r
}

// growStack gives a new goroutine the stack that a tool call needs in one step,
// while there is next to nothing on it to move. Growing it bit by bit under the
// SDK's deep frames costs more than all the rest of a boundary.
//
//go:noinline
func growStack() {
	var room [14 << 10]byte
	runtime.KeepAlive(&room)
}

// wait returns how the function ended, or false once ctx has ended and the time
// to settle is over.
func (r *running[T]) wait(ctx context.Context) (ending[T], bool) {
	select {
	case e := <-r.done:
		return e, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case e := <-r.done:
		return e, true
	case <-timer.C:
		return ending[T]{}, false
	}
}

// whenDone has f called once with the ending, here and now if it ended already.
func (r *running[T]) whenDone(f func(ending[T])) {
	r.late = f
	if !r.state.CompareAndSwap(0, 2) {
		f(<-r.done)
	}
}

// problem is nil when the function returned.
func (e *ending[T]) problem(tool string) *problem {
	switch {
	case e.panicked:
		return &problem{kind: "internal", text: internalText(tool), cause: "panic: " + printed(e.value), stack: e.stack}
	case e.exited:
		return &problem{kind: "internal", text: internalText(tool), cause: "runtime.Goexit", stack: e.stack}
	}
	return nil
}

func internalText(tool string) string {
	return fmt.Sprintf("Tool %q failed because of a fault in the server. The arguments are not the reason.", tool)
}
