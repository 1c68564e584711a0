package mrtr

import (
	"fmt"
	"strings"
)

// The errors of this package end calls. Those that a client may see say so in
// their text; on a tool call they become error results (isError), on prompts
// and resources, which have no such thing, protocol errors.
//
// The methods named ToolError… are how a layer outside, such as package
// boundary, recognises them without either side importing the other.

// UsageError is a mistake in the code that uses this package. It is found
// when the program starts or when a question is made, as early as possible.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return "mrtr: " + e.message }

// ToolErrorType names the error for agents.
func (e *UsageError) ToolErrorType() string { return "usage" }

// ToolErrorExpected is false: an operator must act.
func (e *UsageError) ToolErrorExpected() bool { return false }

func misuse(format string, args ...any) error {
	return &UsageError{message: fmt.Sprintf(format, args...)}
}

// Unasked is what [Ask] returns in a guarded handler when there is no answer
// yet: that handler must return [Need] itself. It carries the questions, for
// those who write a handler style of their own.
type Unasked struct{ Questions []Asking }

func (e *Unasked) Error() string {
	keys := make([]string, len(e.Questions))
	for i, q := range e.Questions {
		keys[i] = q.Key()
	}
	return fmt.Sprintf("mrtr: %s not answered yet: a guarded handler reads with Answer and returns Need", strings.Join(keys, ", "))
}

// ToolErrorType names the error for agents.
func (e *Unasked) ToolErrorType() string { return "usage" }

// ToolErrorExpected is false: an operator must act.
func (e *Unasked) ToolErrorExpected() bool { return false }

// afterEffect marks an error as one that came after an effect had run, so
// that nobody retries the call blindly. The text stays the error's own.
type afterEffect struct{ error }

func (e afterEffect) Unwrap() error { return e.error }

// ToolErrorEffect says what is known of the call's effects.
func (e afterEffect) ToolErrorEffect() string { return "applied" }
