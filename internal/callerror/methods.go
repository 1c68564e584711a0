// Package callerror is what an error that ends a call tells its client: the methods by which
// it describes itself, the text that may take the place of its own, and its JSON-RPC code.
package callerror

// The methods by which an error describes itself. Package boundary explains them to authors
// and reads them; package mrtr keeps their answers in a journal, so that a replayed error
// answers as the first one did.
type (
	Type      interface{ ToolErrorType() string }
	Code      interface{ ToolErrorCode() string }
	Expected  interface{ ToolErrorExpected() bool }
	Quiet     interface{ ToolErrorQuiet() bool }
	Hints     interface{ ToolErrorHints() []string }
	Operation interface{ ToolErrorOperation() string }
	Selector  interface {
		ToolErrorSelector() (selector string, candidates []string)
	}
	Fields    interface{ ToolErrorFields() map[string][]string }
	Effect    interface{ ToolErrorEffect() string }
	Retryable interface{ ToolErrorRetryable() bool }
	Cause     interface{ ToolErrorCause() string }
	Protocol  interface {
		ToolErrorProtocol() (code int64, message string, data []byte)
	}
	// Timeout is the method of net.Error and context.DeadlineExceeded.
	Timeout interface{ Timeout() bool }
)
