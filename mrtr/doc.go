// Package mrtr makes tools, prompts and resources that stop to ask the user
// something, on the official go-sdk and revision 2026-07-28 of the Model
// Context Protocol.
//
// Since that revision a server cannot call its client back. A handler that
// needs something returns an incomplete result: questions, and a state. The
// client asks its user and makes the same request again, from the top, with the
// answers and the state. So every such handler makes two moves: read what came
// back, and ask for what is missing.
//
//	units := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
//	handler := func(ctx context.Context, c *mrtr.Call, in In) (*mrtr.IncompleteResult, Out, error) {
//		unit, ok := mrtr.Answer(c, units)
//		if !ok {
//			return mrtr.Need(units), Out{}, nil
//		}
//		return nil, forecast(in, unit), nil
//	}
//	rt, err := mrtr.New(nil)
//	...
//	mcp.AddTool(server, tool, mrtr.Tool(rt, mrtr.Native(handler), nil))
//
// What stands above the guard runs in every round; what stands below it, once
// there is an answer. An effect above a guard belongs in [Once].
//
// # What the engine does
//
//   - It seals into the state what has to survive: which call this is, the
//     questions that are open, the answers and effects so far, the author's own
//     value ([IncompleteResult.Carry]). A state that was forged, altered, has
//     expired, or belongs to another request, principal, server or era is
//     refused before the handler is entered; why, only the [Observer] hears.
//   - It checks every answer by the schema of its question as that was sent. One
//     that is missing or does not fit is asked for again without entering the
//     handler, three times at most. An answer to a question that nobody asked
//     is dropped. Nothing a client sends makes [Answer] panic. (Some clients,
//     go-sdk's among them, refuse to send what does not fit; then it is they who
//     end the call.)
//   - It asks a client nothing that the client did not declare. [Confirm] and
//     [Optional] then go on as after a no.
//   - It asks clients from before the revision over their session, or does what
//     the policy says instead ([Legacy]).
//   - It ends the call, with an error that says so, after 9 rounds that ask and
//     2 that only carry state, since go-sdk's client follows no further.
//   - It recovers panics of the author's functions on the handler's goroutine.
//
// # Ways to write a handler
//
// [Native] is the guarded handler above. [Steps] builds one from named steps,
// each run once. [Coroutine], [Journal] and [Resumable] run code that reads from
// top to bottom and asks in its midst ([Ask]). [ByVersion] takes one for each
// era. To a client all are the same, and the registration line is all that
// changes. [Prompt], [Resource] and [RawTool] take them too.
//
// # Errors
//
// On a tool call these are results with isError, and on prompts and resources
// JSON-RPC errors of code -32000, with this text:
//
//	*Declined       the user said no, or dismissed the question
//	*Unanswered     a question was asked four times without a usable answer
//	*Refused        a legacy client cannot be asked, and there is no default
//	*Gone           the frame of a Coroutine is no longer held: call again
//	*Diverged       the handler is no longer what it was when the call began
//	*Busy           too many calls are held: call later
//	*LimitExceeded  too many rounds or questions, or too large a state
//	*Closed         the server is shutting down: call another
//	*UsageError     the program is wrong; Build returns it, too
//	*Unasked        a guarded handler used Ask: it must return Need itself
//	*PanicError     the handler panicked; the text says nothing more
//
// A legacy client that ends a call by not answering, or by answering with an
// error, leaves an [sse.Error].
//
// Three are JSON-RPC errors everywhere: -32602 "Invalid or expired
// requestState", -32602 for arguments that no state can be bound to, and -32021
// with data.requiredCapabilities for a client that must declare more. The
// handler's own errors keep their text; a *jsonrpc.Error passes as it is. An
// error that comes after an effect has run carries a method ToolErrorEffect,
// which says "applied".
//
// # What is promised, and what is not
//
// A state proves that this server, or one that shares its key, made it, for this
// request and this principal, within its lifetime. It does not prove that it was
// not used before. A client that sends a state twice gets the round twice, and
// with it the effects that come after that state: [Once] holds along one chain
// of states, not across copies of it. Where that matters, hand the idempotency
// key that Once gives to the system that has the effect.
//
// Nothing is held on the server between rounds, except by Coroutine and
// Resumable: any instance that shares the keys ([Options.State]) can serve any
// round. With no keys given, the key is the process's own, and a restart ends
// the calls under way.
package mrtr
