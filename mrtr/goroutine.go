package mrtr

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
)

// The author's code runs on goroutines that the engine starts. On the goroutine of the
// request a runtime.Goexit in it would leave the request without an answer.

// onOwnGoroutine runs f on a goroutine of its own and waits for it.
func onOwnGoroutine(f func() error) error {
	done := make(chan error, 1)
	go func() {
		var err error
		returned := false
		defer func() { done <- ended(returned, recover(), err) }()
		err = f()
		returned = true
	}()
	return <-done
}

// ended is how code came to its end: with its own error, a panic, or Goexit.
func ended(returned bool, panicked any, err error) error {
	switch {
	case panicked != nil:
		return panicError(panicked)
	case !returned:
		return exited()
	}
	return err
}

func exited() error { return misuse("the handler ended its goroutine with runtime.Goexit") }

// guardedEntry does what onOwnGoroutine does for one entry of a guarded handler. It is
// reused, so that an entry allocates nothing.
type guardedEntry[In, Out any] struct {
	handler GuardedFunc[In, Out]
	run     func() // main, as a value that is made once
	done    chan struct{}

	ctx  context.Context
	c    *Call
	in   In
	need *IncompleteResult
	out  Out
	err  error
}

func newGuardedEntry[In, Out any](h GuardedFunc[In, Out]) *guardedEntry[In, Out] {
	e := &guardedEntry[In, Out]{handler: h, done: make(chan struct{}, 1)}
	e.run = e.main
	return e
}

func (e *guardedEntry[In, Out]) enter(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error) {
	e.ctx, e.c, e.in = ctx, c, in
	go e.run()
	<-e.done
	need, out, err := e.need, e.out, e.err
	*e = guardedEntry[In, Out]{handler: e.handler, run: e.run, done: e.done}
	return need, out, err
}

func (e *guardedEntry[In, Out]) main() {
	returned := false
	defer func() {
		e.err = ended(returned, recover(), e.err)
		e.done <- struct{}{}
	}()
	e.need, e.out, e.err = e.handler(e.ctx, e.c, e.in)
	returned = true
}

// onLinearRun reports whether it is called on the goroutine of a linear run, and
// not on one that the handler started: whether the stack begins with main. A
// question asked elsewhere would wait where the engine can neither wake nor
// unwind it.
func onLinearRun() bool {
	var few [8]uintptr
	pcs := few[:]
	n := runtime.Callers(3, pcs) // from await's caller on
	for n == len(pcs) {
		pcs = make([]uintptr, 8*len(pcs))
		n = runtime.Callers(3, pcs)
	}
	bottom := pcs[max(0, n-3):n] // goexit is last, a wrapper may be before it
	return slices.Contains(bottom, bodyCall.Load()) || slices.ContainsFunc(bottom, isMain)
}

// bodyCall is the one place where main calls its body, once that is known. It
// saves a search through the program's functions, and the stack for it, which
// each parked handler would keep.
var bodyCall atomic.Uintptr

func isMain(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	if f == nil || f.Entry() != mainEntry {
		return false
	}
	bodyCall.Store(pc)
	return true
}

var mainEntry = reflect.ValueOf((*linearRun).main).Pointer()
