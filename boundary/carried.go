package boundary

import "errors"

// carried is the outermost error in the chain that has the methods of T, one of
// package errormethods.
func carried[T any](err error) (T, bool) {
	var t T
	ok := errors.As(err, &t)
	return t, ok
}
