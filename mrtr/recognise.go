package mrtr

import "errors"

func isExpected(err error) bool {
	var e interface{ ToolErrorExpected() bool }
	return errors.As(err, &e) && e.ToolErrorExpected()
}

func isQuiet(err error) bool {
	var e interface{ ToolErrorQuiet() bool }
	return errors.As(err, &e) && e.ToolErrorQuiet()
}

func errorType(err error) string {
	var e interface{ ToolErrorType() string }
	if errors.As(err, &e) {
		return e.ToolErrorType()
	}
	return "execution"
}
