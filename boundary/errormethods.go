package boundary

import "errors"

// The methods by which an error describes itself to the boundary. The package text
// explains them.
type (
	carriesType      interface{ ToolErrorType() string }
	carriesCode      interface{ ToolErrorCode() string }
	carriesExpected  interface{ ToolErrorExpected() bool }
	carriesQuiet     interface{ ToolErrorQuiet() bool }
	carriesHints     interface{ ToolErrorHints() []string }
	carriesOperation interface{ ToolErrorOperation() string }
	carriesSelector  interface {
		ToolErrorSelector() (selector string, candidates []string)
	}
	carriesFields    interface{ ToolErrorFields() map[string][]string }
	carriesEffect    interface{ ToolErrorEffect() string }
	carriesRetryable interface{ ToolErrorRetryable() bool }
	carriesCause     interface{ ToolErrorCause() string }
	carriesProtocol  interface {
		ToolErrorProtocol() (code int64, message string, data []byte)
	}
)

// carried is the outermost error in the chain that has the methods of T.
func carried[T any](err error) (T, bool) {
	var t T
	ok := errors.As(err, &t)
	return t, ok
}
