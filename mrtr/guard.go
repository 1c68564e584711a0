package mrtr

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

// The engine calls code that others wrote: handlers, functions of effects, steps and options,
// methods of inputs, answers, values, results and errors, and the operator's listener. All of
// it runs in a guard, on a goroutine that the engine starts: a program can't stop a
// runtime.Goexit, and on the goroutine of the request it would leave the request without an
// answer. Linear code has its own goroutine and its own guard (package linear).
// The function of an effect runs on its handler's, and attempt.end records how it ended.

// guard runs f on a separate goroutine and waits for it. The error is that of f, its
// panic, or its Goexit.
func guard(f func() error) error {
	done := make(chan error, 1)
	go func() {
		stack.Grow[[8 << 10]byte]() // loggers and tracers are deep
		guarded(f, func(err error) { done <- err })
	}()
	return <-done
}

// guarded runs f, and calls end with its error, its panic, or its Goexit.
func guarded(f func() error, end func(error)) {
	var err error
	returned := false
	defer func() { end(ended(returned, recover(), err)) }()
	err = f()
	returned = true
}

// ended is how code came to its end.
func ended(returned bool, panicked any, err error) error {
	switch {
	case panicked != nil:
		return panicError(panicked)
	case !returned:
		return errExited
	}
	return err
}

// errExited ends a call like a panic: its code may have stopped anywhere.
var errExited = misuse("the handler ended its goroutine with runtime.Goexit")

func panicError(v any) error {
	switch err := v.(type) {
	case *UsageError: // of a step that reads a later one
		return err
	case *PanicError: // of an effect, which knows its stack
		return err
	}
	return &PanicError{Value: v, Stack: stack.Trace(0)}
}

// badMethod stands for the value of a panic in a method of an error.
const badMethod = "a method of the error panicked"

// safeError returns an error whose methods can be called. That of a nil pointer in an error,
// a common mistake, panics where go-sdk reads it, on a goroutine without a recover.
func safeError(err error) error {
	if unreadable := unreadable(err); unreadable != nil {
		return unreadable
	}
	return err
}

// unreadable is how asking an error ended its code, nil where that returned.
func unreadable(err error) error {
	switch e := err.(type) {
	case nil, *Error, *UsageError:
		return nil
	case *PanicError:
		if _, ok := e.Value.(error); !ok {
			return nil
		}
	}
	asked := guard(func() error { failure.Ask(err); return nil })
	if panicked, ok := asked.(*PanicError); ok {
		return &PanicError{Value: badMethod, Stack: panicked.Stack}
	}
	return asked
}

// failureOf is the record of the error or the panic of an effect. The author gets the error that
// meet makes of it, when the effect fails and when it is replayed, so that the code takes the
// same way both times.
func failureOf(err error) (f *failure.Failure) {
	unread := guard(func() error {
		if p, ok := err.(*PanicError); ok {
			f = failure.OfPanic(p.Value).ReadBack()
		} else {
			f = failure.Of(err).ReadBack()
		}
		return nil
	})
	if unread != nil {
		return failure.OfPanic(badMethod)
	}
	return f
}

// meet returns the error of a failure that was recorded, or panics if it was a panic.
func meet(f *failure.Failure) error {
	if f.Panic {
		panic(&PanicError{Value: f.PanicValue(f.Text)})
	}
	return f.Err()
}

// go-sdk, or a layer outside, knows these errors by their type.
func init() {
	failure.Keep[*jsonrpc.Error](nil, nil)
	failure.Keep(func(err *UsageError) json.RawMessage {
		text, _ := json.Marshal(err.Error())
		return text
	}, func(value json.RawMessage) (*UsageError, bool) {
		var text string
		err := json.Unmarshal(value, &text)
		return usage.Recorded(text), err == nil
	})
}
