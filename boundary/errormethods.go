// # What an error can say about itself
//
// An error tells the boundary about itself by methods: implement those that
// apply, on the error itself or on one it wraps, at any depth. No import of this
// package is needed, since every method uses builtin types only. The outermost
// error that has a method answers for it.
//
//	ToolErrorType() string
//		The type on the wire, such as "not_found". Without it: "execution".
//	ToolErrorCode() string
//		A finer code of the author's own.
//	ToolErrorExpected() bool
//		True if the agent can correct it. Without it the error is a fault.
//	ToolErrorQuiet() bool
//		True if it is nobody's mistake, such as a declined question: logged at
//		INFO. A quiet error counts as expected.
//	ToolErrorHints() []string
//		What the agent may try, one sentence each.
//	ToolErrorOperation() string
//		What the tool was doing.
//	ToolErrorSelector() (selector string, candidates []string)
//		The argument that picked nothing, or too much, and what it could have
//		picked.
//	ToolErrorFields() map[string][]string
//		What is wrong with the arguments, by JSON pointer.
//	ToolErrorEffect() string
//		"applied" or "unknown", once an effect has or may have happened.
//	ToolErrorRetryable() bool
//		True if running the same call again may succeed. See [HandlerOptions].
//	ToolErrorCause() string
//		What the log of a fault says in place of the chain's texts, such as a
//		panic's value and stack. It never leaves the server.
//	ToolErrorProtocol() (code int64, message string, data []byte)
//		The call is to end in this JSON-RPC error instead of an error result.
//
// The text on the wire is what the raised error's Error method returns, wrapping
// included. A cause that is not for clients belongs behind Unwrap, out of the
// text, as in [Execution]; the log walks the chain and finds it.
package boundary

import "errors"

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

// carried finds the outermost error in the chain that has the methods of T.
func carried[T any](err error) (T, bool) {
	var t T
	ok := errors.As(err, &t)
	return t, ok
}
