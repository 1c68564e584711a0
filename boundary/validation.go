package boundary

import (
	"fmt"
	"slices"
	"strings"
)

// A FieldError is one problem with the arguments.
type FieldError struct {
	Pointer string `json:"pointer"`        // JSON pointer into the arguments; "" for all of them
	Problem string `json:"problem"`        // such as "is required"; must not quote the value, which may be secret
	Hint    string `json:"hint,omitempty"` // what to send instead
}

// Validation is the error of wrong arguments, with every problem at once. It is
// expected. The boundary returns it for arguments that break the tool's schema; a
// tool returns it for rules that a schema cannot express.
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
		if order := strings.Compare(a.Pointer, b.Pointer); order != 0 {
			return order
		}
		return strings.Compare(a.Problem, b.Problem)
	})
	return fields
}

func (e *Validation) ToolErrorType() string   { return "validation" }
func (e *Validation) ToolErrorExpected() bool { return true }

// ToolErrorHints returns the fields' hints, sorted as the fields are, then Hints.
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
