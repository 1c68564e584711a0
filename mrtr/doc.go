// Package mrtr makes tools, prompts and resources that stop to ask the user something, on the
// official go-sdk. Since revision 2026-07-28 of the Model Context Protocol a server can't call its
// client back: a handler that needs an answer returns its questions and a state, and the client
// repeats the request with both. Each of these requests is a round of the call.
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
// [New] makes a [Runtime], and [Add] registers a handler, in a [Style] such as [Native]. [Choose],
// [Confirm] and [Elicit] make a [Question]; [Answer] reads its answer, and [Need] asks it. [Once]
// guards an effect that must not happen twice, and [Style.OnStop] undoes it.
//
// Packages linear, steps and given have other styles, durable keeps calls in a store, and observe
// logs them. Authors of a listener or a keeper need package listen or keep, and authors of a style
// Pass.
package mrtr
