// Package fault ends a check at the line that does not hold, on any goroutine: each of its
// lines is one that must hold, as with package require, and nothing has to hand errors up.
package fault

import "fmt"

// fault is what a check panics with.
type fault struct{ error }

// Failf ends the check that runs.
func Failf(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

// Check ends the check that runs if there is an error.
func Check(err error) {
	if err != nil {
		panic(fault{err})
	}
}

// Must is the value of a call that has to succeed.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Caught runs a check, or the part of one that has a goroutine of its own, and returns its
// fault.
func Caught(check func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case fault:
			err = v.error
		default:
			panic(v)
		}
	}()
	check()
	return nil
}

// During runs a part of a check, and names it in its fault.
func During(name string, part func()) {
	if err := Caught(part); err != nil {
		Failf("%s: %w", name, err)
	}
}
