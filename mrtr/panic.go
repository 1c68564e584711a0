package mrtr

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a handler's panic. Its text is for the client and says
// nothing; the value and the stack are for the log.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "The tool failed unexpectedly." }

// Unwrap gives the value, where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ToolErrorType names the error for agents.
func (e *PanicError) ToolErrorType() string { return "panic" }

// ToolErrorExpected is false: an operator must act.
func (e *PanicError) ToolErrorExpected() bool { return false }

// ToolErrorQuiet is false, whatever error the handler panicked with.
func (e *PanicError) ToolErrorQuiet() bool { return false }

// ToolErrorCause is what the log should know.
func (e *PanicError) ToolErrorCause() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// recovered turns a panic of the author's code into the call's error. It is to
// be deferred itself: recover works nowhere else.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = panicError(v)
	}
}

func panicError(v any) error {
	if err, ok := v.(*UsageError); ok { // of a step that reads a later one
		return err
	}
	return &PanicError{Value: v, Stack: debug.Stack()}
}
