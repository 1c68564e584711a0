package boundary

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/mrtr-go/sdk/internal/stacktrace"
)

// running yields the outcome of a function that runs on its own goroutine, once.
type running[T any] chan outcome[T]

// An outcome is how a function ended: it returned, or it failed by a panic or
// runtime.Goexit.
type outcome[T any] struct {
	res    T
	err    error
	failed *failure
}

// start runs f. c may be nil.
func start[T any](ctx context.Context, c *call, f func(context.Context, *call) (T, error)) running[T] {
	r := make(running[T], 1)
	go r.run(ctx, c, f)
	return r
}

func (r running[T]) run(ctx context.Context, c *call, f func(context.Context, *call) (T, error)) {
	var ended outcome[T]
	returned := false
	defer func() { r <- ended }()
	defer func() {
		if returned {
			return
		}
		v := recover()
		ended.failed = &failure{kind: "internal", text: internalText(c), cause: "runtime.Goexit", stack: stacktrace.Of(0)}
		if v != nil {
			ended.failed.cause = fmt.Sprintf("a panic with a %T, which does not print", v)
			ended.failed.cause = "panic: " + printed(v) // the author's code, which may end the goroutine
		}
	}()
	growStack()
	ended.res, ended.err = f(ctx, c)
	returned = true
}

// growStack gives a new goroutine in one step the stack that a tool call needs,
// while there is little on it to copy. Letting it grow step by step under
// go-sdk's deep frames costs more than the rest of the boundary.
//
//go:noinline
func growStack() {
	var room [14 << 10]byte
	runtime.KeepAlive(&room)
}

// wait returns the outcome, or false once ctx has ended and the time to settle has
// passed.
func (r running[T]) wait(ctx context.Context) (outcome[T], bool) {
	select {
	case ended := <-r:
		return ended, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case ended := <-r:
		return ended, true
	case <-timer.C:
		return outcome[T]{}, false
	}
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
