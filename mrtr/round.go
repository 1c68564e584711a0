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
func (rt *Runtime) round(ctx context.Context, ex exchange, t *target, to recordable, enter enterFunc) (*asked, error) {
	rt.rounds.Add(1)
	defer rt.rounds.Add(-1)
	var began time.Time
	if rt.observer != nil { // nobody else asks for the time
		began = time.Now()
	}
	c, err := rt.open(ctx, ex, t)
	if err != nil {
		return nil, err
	}
	ctx = c.startRound(ctx)
	out, err := c.advance(ctx, to, enter)
	if ex.client.Era == era.Legacy {
		noteRound(ctx, c, out != nil)
	}
	out, err = c.settleRound(ctx, out, sound(err), to, enter)
	if rt.observer != nil && !c.elsewhere { // else it knows
		c.observeEnd(ctx, out, err, time.Since(began))
	}
	return out, err
}

// settleRound undoes the effects of a stopped call, and records the outcome of a turn. A
// panic in it, as of a method of the author's error, lets go of the turn: its holder would
// else renew the claim for ever.
func (c *Call) settleRound(ctx context.Context, out *asked, err error, to recordable, enter enterFunc) (_ *asked, failed error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		failed = panicError(v)
		if cl := c.currentClaim(); cl != nil {
			cl.held.LetGo(ctx, c.left(cl))
		}
	}()
	if err != nil && !c.elsewhere {
		var stops []func(context.Context, error)
		switch {
		case c.goesOn(ctx, err):
			c.abandonFrame(endOf(ctx))
		case c.ends():
			stops = c.unwind(ctx, enter)
		}
		err = c.tellEffects(err)
		if len(stops) > 0 && c.noteStops(ctx) {
			c.runStops(ctx, stops, err)
		}
	}
	if c.claim != nil {
		return c.conclude(ctx, out, err, to)
	}
	return out, err
}

// observeEnd tells the observer how a round ended.
func (c *Call) observeEnd(ctx context.Context, out *asked, err error, took time.Duration) {
	switch {
	case err != nil:
		c.observe(ctx, Event{Kind: CallStopped, Err: err, Reason: c.begunWith(err), Duration: took})
	case out == nil:
		c.observe(ctx, Event{Kind: CallCompleted, Duration: took})
	default:
		c.observe(ctx, Event{Kind: QuestionsAsked, Questions: c.st.openKeys(), StateBytes: len(out.token), Duration: took})
	}
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
func (c *Call) advance(ctx context.Context, to recordable, enter enterFunc) (_ *asked, err error) {
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
			return c.suspend()
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
			c.hooks = nil
		}
		c.ran = true
		need, err := enter(ctx, c)
		if need != nil || err == errRefused {
			again, err := c.takeBack(ctx)
			if err != nil {
				return nil, err
			}
			if again {
				return c.suspend()
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
			return c.suspend()
		}
	}
	return nil, tooManyRounds(limit)
}

// complete runs the functions registered with [Call.OnComplete].
func (c *Call) complete(ctx context.Context) error {
	hooks := c.hooks.onComplete()
	if len(hooks) == 0 {
		return nil
	}
	return onOwnGoroutine(func() error {
		for _, fn := range hooks {
			fn(ctx)
		}
		return nil
	})
}
