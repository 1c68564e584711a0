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
