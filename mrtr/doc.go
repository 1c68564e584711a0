// Package mrtr makes tools, prompts and resources that stop to ask the user
// something, on the official go-sdk. Since revision 2026-07-28 of the Model Context
// Protocol a server can't call its client back. A handler that needs an answer returns
// its questions and a state, and the client makes the same request again, with the
// answers and the state. Each of these requests is a round of the call.
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
//	mrtr.Add(server, rt, tool, mrtr.Native(handler))
//
// # Most tools need no more
//
//   - [New] makes the [Runtime] of a server. It seals the states, opens those that come back,
//     and judges the answers.
//   - [Add] registers a handler with it. [Tool], [Prompt], [Resource] and [RawTool] make handlers for
//     go-sdk's own way.
//   - [Native] is the style of the handler above. No client can tell one [Style] from another.
//   - [Choose], [Confirm] and [Elicit] make a [Question].
//   - [Answer] reads its answer, and [Need] asks where there is none.
//   - [Once] guards an effect that must not happen twice, such as a payment.
//   - [Style.OnStop] undoes it if the call ends without completing.
//   - With Options.Durable each later round runs once, however often its request arrives. So does
//     the first, if the caller is known or sends a key: see Options.Same.
//
// # Questions
//
// If the user says no, the call ends. Four kinds of question let it go on: a [Confirm] is false,
// an [Optional] is nil, a [Reply] gives the reason, and an [ElicitRaw] gives the user's action.
//
// [Question.Default] answers for a client that can't be asked. [Question.Within] gives the user so
// long to answer. [Known] has its answer already and asks nothing. [ElicitURL] sends the user to a
// page, and package visit hears when they are done there. [Quote] puts somebody's text into a message.
//
// # Other styles
//
// In package linear a handler reads from top to bottom, and is held where it asks, run again with
// everything replayed, or both. In package steps it is a list with names. Package given enters
// it once, when all of its questions are answered. docs/styles.md says when to take which.
//
// # How a call ends
//
// A call ends with a result or with an [Error]. The Error has a [Reason], and names the effects
// that stand, that were undone, and that are in doubt. A mistake of the handler is a [UsageError]
// and a panic a [PanicError]. A handler says no itself with an Error of the reason [Declined],
// whose Detail the client reads.
//
// # For operators
//
// [Options] have the keys of the states, the [Limits], and the policies for legacy
// clients and for those that can't be asked. [HandlerOptions] override some of them for one
// handler. Package durable keeps the rounds in a store, and package observe
// tells of everything that happens, such as to a log.
// [Runtime.Drain] and Close stop an instance, [Runtime.Stats] counts the handlers that it holds,
// and [Runtime.Erase] forgets a call.
package mrtr
