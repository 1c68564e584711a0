package store

import (
	"errors"
	"fmt"
)

// The verdicts of a store. Each says that nothing was written. Backends wrap
// them, so compare with [errors.Is].
var (
	// ErrExists: Create found a record under the key.
	ErrExists = errors.New("the record exists")
	// ErrConflict: the record is not at the revision that Update named.
	ErrConflict = errors.New("the record is not at this revision")
	// ErrNotFound: there is no such record, or Get does not see it yet.
	ErrNotFound = errors.New("no such record")
	// ErrForgotten: the store's contents are not those that the key is about.
	// The store was wiped, or it is another store.
	ErrForgotten = errors.New("the store has lost what this key is about")
	// ErrFull: there is no room. Records that expire make some.
	ErrFull = errors.New("the store is full")
	// ErrTooLarge: the value is longer than the store takes.
	ErrTooLarge = errors.New("the value is too large")
)

// IsVerdict reports whether err settles an operation: it is one of the errors
// above or a [*UsageError]. After any other error a write may have been done,
// or may yet be.
func IsVerdict(err error) bool {
	for _, verdict := range []error{ErrExists, ErrConflict, ErrNotFound, ErrForgotten, ErrFull, ErrTooLarge} {
		if errors.Is(err, verdict) {
			return true
		}
	}
	var usage *UsageError
	return errors.As(err, &usage)
}

// UsageError reports misuse: the code that calls the store has to change.
// Nothing was written.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return "store: " + e.message }

// Misuse returns a [*UsageError]. It is for those who write a store.
func Misuse(format string, args ...any) error {
	return &UsageError{message: fmt.Sprintf(format, args...)}
}
