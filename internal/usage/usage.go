// Package usage has the error of wrong options and wrong calls, for every package but
// statecodec, which imports the standard library alone, and the rule of their options:
// zero means the default, and a negative limit is an error.
package usage

import (
	"errors"
	"fmt"
	"time"
)

// Error is a mistake in the code that uses a package. It is found when the program
// starts, where that is possible, and otherwise when the code runs. Its text begins
// with the package's name.
type Error struct {
	text  string
	cause error
}

// New makes an Error of pkg. The error that the format wraps, if any, is its cause.
func New(pkg, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{text: pkg + ": " + err.Error(), cause: errors.Unwrap(err)}
}

// Recorded is an Error whose text was written down.
func Recorded(text string) *Error { return &Error{text: text} }

func (e *Error) Error() string { return e.text }

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// ToolErrorType names the error for agents.
func (e *Error) ToolErrorType() string { return "usage" }

// ToolErrorExpected is false: an operator must act.
func (e *Error) ToolErrorExpected() bool { return false }

// Options checks the limits of one options struct.
type Options struct {
	pkg, name string
	err       *Error
}

// Of checks the options that pkg calls by this name.
func Of(pkg, name string) *Options { return &Options{pkg: pkg, name: name} }

// Default puts the default in place of a zero, and refuses a negative value.
func Default[T int | int64 | time.Duration](o *Options, name string, value *T, standard T) {
	switch {
	case *value == 0:
		*value = standard
	case *value < 0 && o.err == nil:
		o.err = New(o.pkg, "%s.%s is negative: %v", o.name, name, *value)
	}
}

// Err is the first mistake, nil if there is none.
func (o *Options) Err() error {
	if o.err == nil {
		return nil
	}
	return o.err
}

// maxKey bounds the keys of questions, effects and steps.
const maxKey = 64

// CheckKey returns an error for a text that cannot be the key of a question, effect or step.
// Keys stay readable on the wire, in logs and in error texts.
func CheckKey(key string) error {
	if key == "" || len(key) > maxKey {
		return New("mrtr", "key %.80q: a key has 1 to %d characters", key, maxKey)
	}
	for i := range len(key) {
		c := key[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return New("mrtr", "key %q: only letters, digits, '_', '-' and '.' are allowed", key)
		}
	}
	return nil
}
