package mrtr

import "context"

// LinearFunc is a handler that reads from top to bottom: it asks with [Ask] and
// goes on below with the answer. What it does is done with [Once].
type LinearFunc[In, Out any] func(ctx context.Context, c *Call, in In) (Out, error)

// Coroutine holds a linear handler where it asks, and lets it go on when the
// answer comes: its goroutine is parked in this process, so the next round
// must come here. If the frame is gone (a restart, another instance, too long
// a wait) the call ends with [Gone].
//
// The context of a held handler has a life of its own: it carries the values
// of the running round, is cancelled with that round, with the frame and with
// the runtime, and knows no deadline of an earlier round.
func Coroutine[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{parks: true})
}

// Journal holds nothing: in each round the handler runs again from its top,
// and every question and effect that happened before gives what it gave then,
// from the journal in the state. The rest of its code must come to the same
// each time: put the clock, chance, and whatever else may differ into [Once].
// A handler that takes another way than before ends the call with [Diverged].
//
// Deferred functions run at the end of every round, also of one that only asks:
// do not release in one what [Once] has acquired.
func Journal[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{replays: true})
}

// Resumable holds a linear handler as [Coroutine] does, and falls back to the
// journal where the frame is gone: the frame is a cache, the journal is the
// truth. It needs of the handler what Journal needs.
func Resumable[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{parks: true, replays: true})
}

type linearStyle struct{ parks, replays bool }

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

func linear[In, Out any](h LinearFunc[In, Out], how linearStyle) Style[In, Out] {
	if h == nil {
		return Style[In, Out]{}
	}
	return Style[In, Out]{replays: how.replays, enter: func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error) {
		var none Out
		s, err := c.takeStrand(how)
		if err != nil {
			return nil, none, err
		}
		if s == nil {
			if s, err = c.startStrand(ctx, newStrand(c, how, &linearBody[In, Out]{handler: h, in: in})); err != nil {
				return nil, none, err
			}
		}
		b, ok := s.body.(*linearBody[In, Out])
		if !ok { // the tool's name now stands for a handler with other types
			s.end(context.Canceled)
			return nil, none, &Error{Reason: FrameGone}
		}
		t, err := s.run(ctx, c)
		if err != nil {
			return nil, none, err
		}
		if t.ended() || !s.how.parks {
			c.strand = nil // it has left
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

// takeStrand finds the strand of this call, nil where one is to be started.
func (c *Call) takeStrand(how linearStyle) (*strand, error) {
	if c.strand != nil { // entered again in the same round
		return c.strand, nil
	}
	if c.st.steps != "" {
		return nil, c.diverged("it was a list of steps")
	}
	if s := c.rt.frames.take(c.st.frame); s != nil {
		c.strand = s
		return s, nil
	}
	if c.st.round > 1 && !how.replays {
		return nil, &Error{Reason: FrameGone}
	}
	return nil, nil
}

func (c *Call) startStrand(ctx context.Context, s *strand) (*strand, error) {
	if err := c.rt.frames.enter(s); err != nil {
		return nil, err
	}
	c.strand = s
	c.observe(ctx, Event{Kind: HandlerEntered})
	return s, nil
}

// hold parks the strand of a call that waits for answers.
func (c *Call) hold() error {
	s := c.strand
	if s == nil {
		if c.st.frame == "" { // nothing is held in this style
			return nil
		}
		// Asked again without the handler.
		if c.st.frame = c.rt.frames.rename(c.st.frame); c.st.frame == "" && !c.target.replays {
			return &Error{Reason: FrameGone}
		}
		return nil
	}
	s.forget()
	token, err := c.rt.frames.park(s)
	if err != nil && s.how.replays { // the journal will do
		s.end(err)
		err = nil
	}
	c.st.frame = token
	return err
}

// abandonStrand unwinds what is held for a call that has ended.
func (c *Call) abandonStrand() {
	s := c.rt.frames.take(c.st.frame)
	if s == nil {
		s = c.strand
	}
	if s != nil {
		s.end(context.Canceled)
	}
}

// abandoned tells the observer of a frame that was unwound without an answer.
func (rt *Runtime) abandoned(s *strand, reason string) {
	s.call.observe(context.Background(), Event{Kind: CallAbandoned, Reason: reason})
}
