package mcphttp

import "fmt"

// UsageError is a mistake in the options of a [Handler]. [NewHandler] returns it.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return "mcphttp: " + e.err.Error() }

// Unwrap gives the cause, where there is one.
func (e *UsageError) Unwrap() error { return e.err }

func usage(format string, args ...any) *UsageError {
	return &UsageError{fmt.Errorf(format, args...)}
}
