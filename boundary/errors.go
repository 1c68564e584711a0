package boundary

import (
	"fmt"
	"slices"
	"strings"
)

// A FieldError is one thing wrong with the arguments.
type FieldError struct {
	Pointer string `json:"pointer"`        // JSON pointer into the arguments; "" is the whole
	Problem string `json:"problem"`        // without the value: values may be secrets, and are the caller's anyway
	Hint    string `json:"hint,omitempty"` // what to send instead
}

// Validation says that arguments are wrong: all that is wrong with them, at once.
// It is expected. The boundary raises it from a tool's input schema; a tool
// raises it for what a schema cannot say.
type Validation struct {
	Fields []FieldError
	Hints  []string
}

func (e *Validation) Error() string {
	fields := e.sorted()
	parts := make([]string, 0, len(fields))
	for _, f := range fields {
		where := f.Pointer
		if where == "" {
			where = "the arguments"
		}
		parts = append(parts, where+" "+f.Problem)
	}
	noun := "argument problems"
	if len(parts) == 1 {
		noun = "argument problem"
	}
	return fmt.Sprintf("%d %s: %s.", len(parts), noun, strings.Join(parts, "; "))
}

func (e *Validation) sorted() []FieldError {
	fields := slices.Clone(e.Fields)
	slices.SortFunc(fields, func(a, b FieldError) int {
		return strings.Compare(a.Pointer+"\x00"+a.Problem, b.Pointer+"\x00"+b.Problem)
	})
	return fields
}

func (e *Validation) ToolErrorType() string   { return "validation" }
func (e *Validation) ToolErrorExpected() bool { return true }

// ToolErrorHints are the fields' own hints, in their order, then the general ones.
func (e *Validation) ToolErrorHints() []string {
	var hints []string
	for _, f := range e.sorted() {
		if f.Hint != "" {
			hints = append(hints, f.Hint)
		}
	}
	return append(hints, e.Hints...)
}

func (e *Validation) ToolErrorFields() map[string][]string {
	fields := map[string][]string{}
	for _, f := range e.sorted() {
		fields[f.Pointer] = append(fields[f.Pointer], f.Problem)
	}
	return fields
}

// Execution says that something the tool did went wrong. Err is for the log
// alone: the text that a client reads is Message, or that the operation failed.
type Execution struct {
	Operation string // what was being done, such as "geocode"
	Message   string // for the agent; optional
	Err       error  // the cause; never leaves the server
	Code      string // the author's own code; optional
	Expected  bool   // the agent can correct it; otherwise it is a fault
	Retryable bool   // the same call may succeed when run again
	Effect    string // "applied" or "unknown"; optional
	Hints     []string
}

func (e *Execution) Error() string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Operation != "":
		return e.Operation + " failed."
	}
	return "The tool failed."
}

func (e *Execution) Unwrap() error              { return e.Err }
func (e *Execution) ToolErrorType() string      { return "execution" }
func (e *Execution) ToolErrorCode() string      { return e.Code }
func (e *Execution) ToolErrorExpected() bool    { return e.Expected }
func (e *Execution) ToolErrorRetryable() bool   { return e.Retryable }
func (e *Execution) ToolErrorEffect() string    { return e.Effect }
func (e *Execution) ToolErrorOperation() string { return e.Operation }
func (e *Execution) ToolErrorHints() []string   { return e.Hints }
