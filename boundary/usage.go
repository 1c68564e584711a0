package boundary

import "fmt"

// A UsageError is a mistake in the code that uses this package. [Install] returns
// it, and [Handler] panics with it.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return "boundary: " + e.message }

func misuse(format string, args ...any) error {
	return &UsageError{message: fmt.Sprintf(format, args...)}
}
