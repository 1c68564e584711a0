// Package mrtr makes tools, prompts and resources that stop to ask the user
// something, on the official go-sdk and revision 2026-07-28 of the Model Context
// Protocol.
//
// Since that revision a server cannot call its client back. A handler that needs
// an answer returns its questions and a state; the client asks its user and makes
// the same request again, with the answers and the state. So a handler makes two
// moves: read the answers that came back, and ask for those that are missing.
//
//	units := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
//	handler := func(ctx context.Context, c *mrtr.Call, in In) (*mrtr.IncompleteResult, Out, error) {
//		unit, ok := mrtr.Answer(c, units)
//		if !ok {
//			return mrtr.Need(units), Out{}, nil // the code above runs again in the next round
//		}
//		return nil, forecast(in, unit), nil
//	}
//	rt, err := mrtr.New(nil)
//	...
//	mcp.AddTool(server, tool, mrtr.Tool(rt, mrtr.Native(handler), nil))
//
// # A tour
//
//   - [New] makes the [Runtime] of a server: keys, limits, the policy for legacy
//     clients ([LegacyPolicy]), an [Observer].
//   - [Tool], [RawTool], [Prompt] and [Resource] register a handler with it.
//   - A handler is written in one of several styles, which no client can tell apart:
//     [Native] as above; named [Steps]; linear code that is held where it asks
//     ([Coroutine]), run again ([Journal]), or both ([Resumable]).
//   - Questions are [Elicit], [Choose], [Confirm], [ElicitSchema], [ElicitAs],
//     [ElicitRaw], [ElicitURL], [Sample] and [Roots]; [Optional], [Reply] and [Known]
//     change one.
//   - [HandlerOptions] Needs refuse a client that cannot be asked, before anything has
//     happened.
//   - [Once] guards an effect that must not happen twice, and [Do] one without a value.
//     [Call.OnStop] undoes them where the call ends without completing.
//     [IncompleteResult.Carry] takes a value into the next round.
//   - A call that ends without a result ends with an [Error], which has a [Reason];
//     faults of the program are a [UsageError] or a [PanicError].
//
// # Errors
//
// On a tool call these are error results. On prompts and resources, which have
// none, an [Error] is a JSON-RPC error of code -31000, except for [LimitExceeded],
// and a fault one of code -32603. Everywhere, a state that does not open is
// -32602 with one text for all reasons, arguments that no state can be bound to
// are -32602, and a modern client that must declare more gets -32021. The handler's
// own errors keep their text, and a *jsonrpc.Error its code. A legacy client that
// does not answer, or answers with an error, leaves an [sse.Error].
//
// # Promises and limits
//
// A state proves that this server, or one that shares its keys, made it for this
// request and this principal, within its lifetime. It does not prove that it was
// not used before: a client that sends a state twice gets the round twice, with
// the effects that come after that state. Where that matters, hand the idempotency
// key that Once gives to the system that has the effect, or set
// [Options] Store: then the second request gets the result of the first.
//
// An answer that does not fit its question is asked for again without the handler, three
// times at most. A call ends after 9 rounds that ask and 2 that only carry state,
// since go-sdk's client follows no further. [Options] MaxRounds allows more to legacy
// clients, and with FollowsRounds to the modern ones that do.
package mrtr
