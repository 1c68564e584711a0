package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/era"
)

// enterFunc runs the author's code for one round. No result and no error
// means that the call is complete.
type enterFunc func(ctx context.Context, c *Call) (*IncompleteResult, error)

// round takes one request of a call from the state that came in to the state that
// goes out:
//
//	open    the state, or begin a call                         seal.go
//	judge   the answers by the questions that were sent        judge.go
//	claim   the round, or get its outcome: with a store        forward.go, turn.go
//	enter   the handler, once all of them are answered         this file, and the styles
//	ask     the questions that the handler returned            incomplete.go, gate.go
//	seal    the state that goes out with the questions         seal.go
//
// It returns the questions, or nil when the call is complete, or the error that
// ended it.
//
// With a store, to is where the result of an earlier request goes, and where that of
// this one is kept from. Otherwise it is nil.
func (rt *Runtime) round(ctx context.Context, ex exchange, t *target, to kept, enter enterFunc) (*asked, error) {
	began := time.Now()
	rt.rounds.Add(1)
	defer rt.rounds.Add(-1)
	c, err := rt.open(ctx, ex, t)
	if err != nil {
		return nil, err
	}
	ctx = c.startRound(ctx)
	out, err := c.advance(ctx, to, enter)
	if ex.client.Era == era.Legacy {
		noteRound(ctx, c, out != nil)
	}
	if err != nil && !c.elsewhere {
		var stops []func(context.Context, error)
		switch {
		case c.goesOn(ctx, err):
			c.abandonFrame(endOf(ctx))
		case c.ends():
			stops = c.unwind(ctx, enter)
		}
		err = c.tellEffects(err)
		c.runStops(ctx, stops, err)
	}
	if c.claim != nil {
		out, err = c.conclude(ctx, out, err, to)
	}
	switch {
	case c.elsewhere: // the observer knows
	case err != nil:
		c.observe(ctx, Event{Kind: CallStopped, Err: err, Reason: c.begunWith(err), Duration: time.Since(began)})
	case out == nil:
		c.observe(ctx, Event{Kind: CallCompleted, Duration: time.Since(began)})
	case rt.observer != nil:
		c.observe(ctx, Event{Kind: QuestionsAsked, Questions: c.st.openKeys(), StateBytes: len(out.token), Duration: time.Since(began)})
	}
	return out, err
}

// ends reports whether an error of this round ends its call. With a store, that of a
// round which was not claimed ends the request alone.
func (c *Call) ends() bool { return !c.remembered() || c.st.round == 1 || c.claim != nil }

// begunWith tells operators of a call that diverged which version it began with.
// Clients have no business with our builds.
func (c *Call) begunWith(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Reason == Diverged {
		return "begun with version " + c.st.version
	}
	return ""
}

// advance judges the answers that came back, and enters the handler only when
// all are answered; then it asks those that the handler needs. Guards and
// steps run in here, so that their panic ends this call and nothing else; linear
// code has a goroutine of its own, which recovers there.
func (c *Call) advance(ctx context.Context, to kept, enter enterFunc) (_ *asked, err error) {
	defer recovered(&err)
	if c.st.round == 1 {
		if err := c.refuseUnaskable(); err != nil {
			return nil, err
		}
	}
	var ended error // by the answers
	if len(c.st.pending) > 0 {
		settled := false
		settled, ended = c.judgeAnswers(ctx)
		if ended == nil && !settled {
			return c.reply()
		}
	}
	if c.remembered() && c.st.round > 1 && (ended == nil || byPerson(ended)) {
		c.forward(ctx)
		if out, answered, err := c.takeTurn(ctx, ended, to); answered {
			return out, err
		}
	}
	if ended != nil {
		return nil, ended
	}
	// The handler is entered again at once when nobody has to be asked: every
	// question got its default, or is lenient.
	limit := c.maxAsks()
	for range limit + 1 {
		if c.linear == nil { // else the handler goes on, and has registered before
			c.onComplete, c.onStop = nil, nil
		}
		c.ran = true
		need, err := enter(ctx, c)
		if need != nil || err == errRefused {
			again, err := c.takeBack(ctx)
			if err != nil {
				return nil, err
			}
			if again {
				return c.reply()
			}
		}
		if err != nil {
			return nil, err
		}
		if need == nil {
			return nil, c.complete(ctx)
		}
		answered, err := c.take(need)
		if err != nil {
			return nil, err
		}
		if !answered {
			return c.reply()
		}
	}
	return nil, tooManyRounds(limit)
}

// complete runs the functions registered with [Call.OnComplete].
func (c *Call) complete(ctx context.Context) error {
	if len(c.onComplete) == 0 {
		return nil
	}
	return apart(func() error {
		for _, fn := range c.onComplete {
			fn(ctx)
		}
		return nil
	})
}
