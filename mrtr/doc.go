// Package mrtr makes tools, prompts and resources that stop to ask the user
// something, on the official go-sdk and revision 2026-07-28 of the Model Context
// Protocol. Since that revision a server cannot call its client back: a handler that
// needs an answer returns its questions and a state, and the client makes the same
// request again, with the answers and the state.
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
//	mrtr.AddTool(server, tool, mrtr.Tool(rt, mrtr.Native(handler), nil))
//
// # Most tools need no more
//
//   - [New] makes the [Runtime] of a server. It seals the states, opens those that come back,
//     and judges the answers.
//   - [Tool] registers a handler with it. [Prompt], [Resource] and [RawTool] do the same.
//   - [Native] is the style of the handler above. No client can tell one [Style] from another.
//   - [Choose], [Confirm] and [Elicit] make a [Question].
//   - [Answer] reads its answer, and [Need] asks where there is none.
//   - [Once] guards an effect that must not happen twice, such as a payment.
//   - [Call.OnStop] undoes it where the call ends without completing.
//   - Options.Store has each round run once, however often its request comes.
//
// # Questions
//
// A no ends the call, except for a [Confirm], which is false then, an [Optional], which is nil, a
// [Reply], which gives the reason, and an [ElicitRaw], which gives the user's action.
// [Question.Default] answers for a client that cannot be asked, and [Question.Within] bounds the
// time of its user. [Known] asks nothing. [ElicitURL] sends the user to a page, and [Visits] hear
// when they are done there. [Quote] puts somebody's text into a message.
//
// # Other styles
//
// Linear code asks with [Ask] and reads from top to bottom. It is held where it asks
// ([Coroutine]), run again with everything replayed ([Journal]), or both ([Resumable]).
// [Steps] are a list with names, and [Given1] enters a handler once, when all of its
// questions are answered. docs/styles.md says when to take which.
//
// # How a call ends
//
// With a result, or with an [Error], which has a [Reason] and names the effects that stand,
// are undone, or are in doubt. A mistake of the handler is a [UsageError] and a panic a
// [PanicError]. A handler says no by returning an Error of the reason [Declined], with its
// own words as the Detail.
//
// # For operators
//
// [Options] have the keys of the states, the store, the policies for legacy clients and for
// those that cannot be asked, and the [Limits]; [HandlerOptions] those of one handler.
// [Observer] hears of everything that happens, and [LogObserver] writes it to a log.
// [Runtime.Drain] and Close stop an instance, [Runtime.Stats] counts the handlers that it holds,
// and [Runtime.Erase] forgets a call.
package mrtr
