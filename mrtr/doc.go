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
//	mcp.AddTool(server, tool, mrtr.Tool(rt, mrtr.Native(handler), nil))
//
// [New] makes the [Runtime] of a server, which seals the states, opens those that come
// back, and judges the answers. [Tool], [RawTool], [Prompt] and [Resource] register a handler with it. A
// handler has a [Style], which no client can tell from another: [Native] as above; named
// [Steps]; linear code that is held where it asks ([Coroutine]), run again ([Journal]),
// or both ([Resumable]). [Elicit] and its kin make a [Question], and [Optional], [Reply]
// and [Known] change one. [Once] guards an effect that must not happen twice, and
// [Call.OnStop] undoes it where the call ends without completing. Such a call ends with
// an [Error], which has a [Reason]. [HandlerOptions] Needs refuse a client that cannot be
// asked before anything has happened.
package mrtr
