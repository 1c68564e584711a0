package mrtr

import "context"

// A Style is a handler and how it is run. [Add] registers it. The engine enters it with a [Pass],
// and takes what it returns: questions, a result, or an error. To a client all styles are the
// same.
type Style[In, Out any] struct {
	// Enter runs the handler over the history of its call, from its beginning or from where it
	// is held. Where it needs answers that are not there it returns questions.
	Enter func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error)
	// Print names the style and the shape of the handler. A call goes on only in a style that
	// Continues the print in its state; nil means one of the same print.
	Print     string
	Continues func(print string) bool
	// Differs is the error of a call that goes on in no such style, where the style can say
	// more than that.
	Differs func(p *Pass, print string) error
	// Replays: the handler goes on from the history alone. Holds: it may be held between rounds.
	// Again: a run that was cut off can be gone on with, unless the author says otherwise.
	Replays, Holds, Again bool
	// Asks are questions that every call asks.
	Asks []AnyQuestion
	// Undos undo the effects of a call that ends without completing.
	Undos []Undoing
	// Wait has a held handler wait as long again, before the questions of a round go out again. Its
	// error says that the handler is gone, and ends the call.
	Wait func(p *Pass) error
	// Leave lets go of the handler that the style holds: its call has ended or goes on elsewhere, or
	// this run of it has no outcome.
	Leave func(p *Pass, elsewhere bool)

	legacy *Style[In, Out] // for legacy clients, see ByVersion
}

// GuardedFunc is a handler that runs from its top in every round. It reads the answers it has
// and returns, with [Need], as soon as one is missing. The code above such a guard runs again in
// each round; the code below the last one runs in the last round only.
type GuardedFunc[In, Out any] func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error)

// Native enters a guarded handler in every round. An effect above a guard belongs in [Once].
func Native[In, Out any](h GuardedFunc[In, Out]) Style[In, Out] {
	if h == nil {
		return Style[In, Out]{}
	}
	return Style[In, Out]{Print: "guards", Replays: true, Enter: func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error) {
		p.Enter("")
		return h(ctx, p.Call(), in)
	}}
}

// ByVersion serves clients of revision 2026-07-28 and later with one style, and legacy ones
// with another, which may ask over the session ([Question.AskOver]). A call stays in the era it
// began in: its state does not open for the other. If either style is the zero Style, so is the
// result.
func ByVersion[In, Out any](modern, legacy Style[In, Out]) Style[In, Out] {
	if modern.Enter == nil || legacy.Enter == nil {
		return Style[In, Out]{}
	}
	if legacy.legacy != nil {
		legacy = *legacy.legacy
	}
	modern.legacy = &legacy
	return modern
}

// OnStop returns the style with functions that undo effects of a call that ends without
// completing: it was declined, failed, was cancelled or abandoned, or [Stop] ended it. They run
// in reverse order of the effects, before the client gets its result. The client is told which
// effects were undone, which could not be, and which are in doubt.
func (s Style[In, Out]) OnStop(u ...Undoing) Style[In, Out] {
	s.Undos = append(s.Undos[:len(s.Undos):len(s.Undos)], u...)
	if s.legacy != nil {
		legacy := s.legacy.OnStop(u...)
		s.legacy = &legacy
	}
	return s
}
