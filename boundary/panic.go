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

// An outcome is how a function ended: it returned, panicked or called
// runtime.Goexit.
type outcome[T any] struct {
	res      T
	err      error
	panicked bool
	value    any // of the panic
	exited   bool
	stack    []byte
}

func start[T any](f func() (T, error)) running[T] {
	r := make(running[T], 1)
	go func() {
		ended := outcome[T]{exited: true} // until f returns
		defer func() {
			if ended.exited {
				if v := recover(); v != nil {
					ended = outcome[T]{panicked: true, value: v}
				}
				ended.stack = stacktrace.Of(0)
			}
			r <- ended
		}()
		growStack()
		res, err := f()
		ended = outcome[T]{res: res, err: err}
	}()
	return r
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

// failure is nil if the function returned. The client reads that the tool failed;
// the panic's value and the stack are for the log.
func (o *outcome[T]) failure(tool string) *failure {
	switch {
	case o.panicked:
		return &failure{kind: "internal", text: internalText(tool), cause: "panic: " + printed(o.value), stack: o.stack}
	case o.exited:
		return &failure{kind: "internal", text: internalText(tool), cause: "runtime.Goexit", stack: o.stack}
	}
	return nil
}

func internalText(tool string) string {
	return fmt.Sprintf("Tool %q failed because of a fault in the server. The arguments are not the reason.", tool)
}
