package mrtr

import "context"

// A Style is a handler and how it is run. To a client all styles are the same.
type Style[In, Out any] struct {
	// Enter runs the handler over the history of its call. It returns questions where it needs
	// answers.
	Enter func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error)
	// Print names the style and the shape of the handler. A call goes on if Continues takes the
	// print that it began with; nil takes the same. Differs is the error if it does not.
	Print     string
	Continues func(print string) bool
	Differs   func(p *Pass, print string) error
	// The handler Replays: it goes on from the history alone. It Holds: it may be held between
	// rounds. Again: a run that was cut off can be gone on with.
	Replays, Holds, Again bool
	Asks                  []AnyQuestion // in every call
	Undos                 []Undoing     // see OnStop
	// Wait has a held handler wait as long again, unless it is gone.
	Wait func(p *Pass) error
	// Leave lets go of the held handler.
	Leave func(p *Pass, elsewhere bool)

	legacy *Style[In, Out] // for legacy clients, see ByVersion
}

// GuardedFunc runs from its top in every round, and returns with [Need] where an answer is
// missing.
type GuardedFunc[In, Out any] func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error)

// Native enters a guarded handler in every round. Effects above a guard belong in [Once].
func Native[In, Out any](h GuardedFunc[In, Out]) Style[In, Out] {
	if h == nil {
		return Style[In, Out]{}
	}
	return Style[In, Out]{Print: "guards", Replays: true, Enter: func(ctx context.Context, p *Pass, in In) (*IncompleteResult, Out, error) {
		p.Enter("")
		return h(ctx, p.Call(), in)
	}}
}

// ByVersion serves modern clients with one style, and legacy ones with another. A call stays in
// its era.
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

// OnStop returns the style with undos, for a call that ends without completing: declined, failed,
// cancelled, abandoned, or by [Stop]. They run in reverse order of the effects, before the client
// is told.
func (s Style[In, Out]) OnStop(u ...Undoing) Style[In, Out] {
	s.Undos = append(s.Undos[:len(s.Undos):len(s.Undos)], u...)
	if s.legacy != nil {
		legacy := s.legacy.OnStop(u...)
		s.legacy = &legacy
	}
	return s
}
