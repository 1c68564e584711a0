// Package boundary makes every tool call of a go-sdk server end in exactly one
// well-formed result.
//
// A model's API rejects an assistant turn whose tool_use has no tool_result, so
// a call that is never answered does not cost one answer: it costs the
// conversation. With the SDK alone a panic in a tool kills the process and
// every other call in flight; a result that cannot be marshalled, or an output
// that breaks the tool's own schema, is a lost response or one that a strict
// client refuses. One line changes that:
//
//	err := boundary.Install(server, nil)
//
// Every call of a tool then ends as one of four things:
//
//   - a complete result;
//   - an input_required result, which passes untouched;
//   - an error result (isError), in words the agent can act on, with the facts
//     beside them in _meta under [MetaKey];
//   - a protocol error, where one was meant: a *jsonrpc.Error that a handler
//     returned, such as a refused requestState, goes out byte for byte, unless
//     its code was withdrawn, and a [Protocol] survives being wrapped.
//
// Around a tool that does nothing wrong a boundary changes this on the wire: a
// complete or error result has one key more in its _meta, and an error that has
// hints ends in a text block with them. Questions and protocol errors stay as
// they are.
//
// # What ends how
//
// A panic, a runtime.Goexit, a nil result, a nil content block, a value that
// cannot be marshalled, an output that breaks the output schema and a handler
// still running at its deadline each become one error result. The client reads
// that the tool failed; the log has the cause and the stack. A handler past its
// deadline is left behind: its context is cancelled and its late result is
// dropped. The deadline is longer where the user answers inside the request
// ([Options.LegacyDeadline]). [Options.MaxAbandoned] bounds how many may be left
// behind.
//
// Arguments are judged by the tool's own schema before the SDK sees them: all
// problems at once, sorted, by JSON pointer, without the values. A result too
// large keeps its tail.
//
// # Errors
//
// Return [Validation], [Selector] or [Execution] from a tool, wrapped as deep as
// you like, or give your own error types the methods listed below: the package
// recognises errors by what they can say, not by where they come from.
// An error is expected (the agent can correct it; logged at WARN) or a fault (an
// operator must act; logged at ERROR with the cause). An error that says neither
// is a fault whose text the agent still reads as it was raised.
//
// # What no layer can catch
//
// Go gives nobody a way to recover these, so they still end the process, with
// every call in it:
//
//   - a panic in a goroutine that the handler started itself;
//   - the runtime's fatal errors: concurrent map writes, a stack that outgrew
//     its limit, out of memory, unlocking an unlocked mutex, "all goroutines
//     are asleep";
//   - os.Exit and log.Fatal.
//
// A handler that never returns keeps its goroutine, and what that goroutine
// holds, until it does. Middleware added to the server after [Install] runs
// outside the boundary; call Install again to move the boundary outermost.
package boundary
