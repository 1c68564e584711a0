package sse

import "fmt"

// UsageError is a mistake in the options of this package. [Ask] returns it, and the
// Bridge functions panic with it, because they stand where a program is put
// together, beside [mcp.AddTool], which panics on a bad tool.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return "sse: " + e.message }

// ToolErrorType is for code that knows errors by their methods.
func (e *UsageError) ToolErrorType() string { return "usage" }

// ToolErrorExpected is false: an operator should look.
func (e *UsageError) ToolErrorExpected() bool { return false }

func usage(format string, args ...any) *UsageError {
	return &UsageError{message: fmt.Sprintf(format, args...)}
}
