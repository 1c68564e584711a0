package mrtr

import "context"

// LinearFunc is a handler that reads from top to bottom: it asks with [Ask] and
// goes on below with the answer. Its effects belong in [Once].
type LinearFunc[In, Out any] func(ctx context.Context, c *Call, in In) (Out, error)

// Coroutine holds a linear handler where it asks, and lets it go on when the
// answer comes: its goroutine is parked in this process, so the next round has to
// reach this process. If the frame is gone (a restart, another instance, too long
// a wait) the call ends with [FrameGone].
//
// The context of a held handler has a life of its own: it carries the values of
// the running round, is cancelled with that round, with the frame and with the
// runtime, and has no deadline of an earlier round.
func Coroutine[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{parks: true})
}

// Journal holds nothing: in each round the handler runs again from its top, and
// every question and effect that happened before returns its earlier value, from
// the journal in the state. The rest of the code must do the same each time: put
// the clock, chance, and anything else that may differ into [Once]. A handler that
// takes another way than before ends the call with [Diverged], unless a deployment
// changed a question and the call can go back to it ([HandlerOptions.Version]).
//
// Deferred functions run at the end of every round, also of one that only asks: do
// not release in one a resource that [Once] acquired.
func Journal[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{replays: true})
}

// Resumable holds a linear handler as [Coroutine] does, and replays the journal
// where the frame is gone. It asks of the handler the same as Journal.
func Resumable[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{parks: true, replays: true})
}

// linearStyle says how a linear handler survives between two rounds: it is held
// (parks), or can run again from the journal (replays).
type linearStyle struct{ parks, replays bool }

func (how linearStyle) name() string {
	if how.replays {
		return journalStyle
	}
	return coroutineStyle
}

func (how linearStyle) cutOff() cutOff {
	if how.replays {
		return runsAgain
	}
	return cannotRunAgain
}

// linearBody is a linear handler in one of its calls.
type linearBody[In, Out any] struct {
	handler LinearFunc[In, Out]
	in      In
	out     Out
}

func (b *linearBody[In, Out]) run(ctx context.Context, c *Call) (err error) {
	b.out, err = b.handler(ctx, c, b.in)
	return err
}

func (b *linearBody[In, Out]) weigh(limit int) int { return weigh(&b.in, limit) }

func linear[In, Out any](h LinearFunc[In, Out], how linearStyle) Style[In, Out] {
	if h == nil {
		return Style[In, Out]{}
	}
	return Style[In, Out]{replays: how.replays, cutOff: how.cutOff(), enter: func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error) {
		var none Out
		if err := c.useStyle(how.name()); err != nil {
			return nil, none, err
		}
		r, err := c.takeFrame(how)
		if err != nil {
			return nil, none, err
		}
		if r == nil {
			r = newLinearRun(c, how, &linearBody[In, Out]{handler: h, in: in})
			if err := c.startRun(ctx, r); err != nil {
				return nil, none, err
			}
		}
		b, ok := r.body.(*linearBody[In, Out])
		if !ok { // the tool's name now stands for a handler with other types
			r.end(context.Canceled)
			return nil, none, &Error{Reason: FrameGone}
		}
		t, err := r.resume(ctx, c)
		if err != nil {
			return nil, none, err
		}
		if t.ended() || !how.parks {
			c.linear = nil // it has left the table
		}
		if t.ended() {
			return nil, b.out, t.err
		}
		questions := make([]AnyQuestion, len(t.specs))
		for i, sp := range t.specs {
			questions[i] = sp
		}
		return Need(questions...), none, nil
	}}
}
