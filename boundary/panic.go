package boundary

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

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
