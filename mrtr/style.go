package mrtr

import "context"

// A Style is a handler and how it is run. To a client all styles are the same.
type Style[In, Out any] struct {
	// Enter runs the handler over the history of its call, from its beginning or from where it
	// is held. It returns questions where it needs answers.
	Enter func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error)
	// Print names the style and the shape of the handler. A call goes on where it began with a
	// print that Continues; nil means the same print.
	Print     string
	Continues func(print string) bool
	// Differs is the error of a call that does not go on, where the style can say more.
	Differs func(p *Pass, print string) error
	// Replays: the handler goes on from the history alone. Holds: it may be held between rounds.
	// Again: a run that was cut off can be gone on with.
	Replays, Holds, Again bool
	// Asks are questions that every call asks.
	Asks []AnyQuestion
	// Undos are those of OnStop.
	Undos []Undoing
	// Wait has a held handler wait as long again. Its error says that the handler is gone.
	Wait func(p *Pass) error
	// Leave lets go of the held handler: its call has ended, or goes on elsewhere.
	Leave func(p *Pass, elsewhere bool)

	legacy *Style[In, Out] // for legacy clients, see ByVersion
}

// GuardedFunc is a handler that runs from its top in every round. It returns, with [Need], as
// soon as an answer is missing: the code above that guard runs again.
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

// ByVersion serves modern clients with one style, and legacy ones with another, which may ask
// over the session ([Question.AskOver]). A call stays in the era it began in.
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

// OnStop returns the style with undos of effects, for a call that ends without completing:
// declined, failed, cancelled, abandoned, or by [Stop]. They run in reverse order of the effects,
// before the client gets the end of the call, which tells how they went.
func (s Style[In, Out]) OnStop(u ...Undoing) Style[In, Out] {
	s.Undos = append(s.Undos[:len(s.Undos):len(s.Undos)], u...)
	if s.legacy != nil {
		legacy := s.legacy.OnStop(u...)
		s.legacy = &legacy
	}
	return s
}
