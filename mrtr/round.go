package mrtr

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

// run takes one request of a call from the state that came in to the state that
// goes out:
//
//	open    the state, or begin a call                         seal.go
//	judge   the answers by the questions that were sent        judge.go
//	claim   the round, or get its outcome: with a store        turn.go
//	enter   the handler, once all of them are answered         this file, and the styles
//	ask     the questions that the handler returned            ask.go, gate.go
//	seal    the state that goes out with the questions         seal.go
//
// It returns the questions, or nil when the call is complete, or the error that
// ended it. register.go comes before it: there a round is detached from its request, and a
// legacy client is asked between two of them.
func (rt *Runtime) run(ctx context.Context, ex exchange, t *target, r round) (*asked, error) {
	rt.rounds.Add(1)
	defer rt.rounds.Add(-1)
	var began time.Time
	if rt.observer != nil { // nobody else asks for the time
		began = time.Now()
	}
	c := r.begin()
	c.rt, c.target, c.ex = rt, t, ex
	if err := c.openRound(ctx); err != nil {
		return nil, err
	}
	c.life = ctx
	if out, err := c.offerTask(ctx); out != nil || err != nil {
		return out, err
	}
	ctx, done := c.heedTask(ctx)
	defer done()
	ctx = c.startRound(ctx)
	c.life = ctx
	out, err := c.advanceGuarded(ctx, r)
	if err != nil || c.claim != nil {
		out, err = c.settleRound(ctx, out, safeError(err), r)
	}
	if rt.observer != nil && c.phase != elsewhere { // else it knows
		c.observeEnd(ctx, out, err, time.Since(began))
	}
	return out, err
}

// settleRound ends a round. Where code that others wrote does not let it, it lets go of the
// turn: its holder would else renew the claim for ever.
func (c *Call) settleRound(ctx context.Context, out *asked, err error, r round) (*asked, error) {
	settled := false
	err = guard(func() (failed error) {
		out, failed = c.settle(ctx, out, err, r)
		settled = true
		return failed
	})
	if cl := c.currentClaim(); cl != nil && !settled {
		cl.held.LetGo(ctx, c.leftovers(cl))
	}
	return out, err
}

// settle undoes the effects of a stopped call, and records the outcome of a turn.
func (c *Call) settle(ctx context.Context, out *asked, err error, r round) (*asked, error) {
	if over := c.gaveUp(ctx); over != nil {
		if !c.target.again && !c.target.cancel { // its turn has that outcome
			stops, _ := c.unwind(ctx, nil, over)
			c.stop(ctx, stops, over)
		}
		return nil, over
	}
	if err != nil && c.phase != elsewhere {
		if cancelled := c.endedByTask(ctx, err); cancelled != nil {
			err = cancelled
		} else {
			err = c.cutOff(ctx, err)
		}
		var stops []stop
		switch {
		case c.resumable(ctx, err):
			c.abandonFrame(endOf(ctx))
		case c.ends():
			stops, err = c.unwind(ctx, r, err)
			if task := c.task(); task != nil {
				task.End()
			}
		}
		c.stop(ctx, stops, err)
		err = c.reportEffects(err)
	}
	if c.claim != nil {
		return c.conclude(ctx, out, err, r)
	}
	return out, err
}

// observeEnd tells the observer how a round ended.
func (c *Call) observeEnd(ctx context.Context, out *asked, err error, took time.Duration) {
	e := Event{Kind: CallCompleted, Duration: took}
	if s := c.st.seen; s != nil {
		e.Answers = s.answered()
	}
	switch {
	case err != nil:
		e.Kind, e.Err, e.Reason = CallStopped, err, c.begunWith(err)
	case out != nil:
		e.Kind, e.Questions, e.StateBytes = QuestionsAsked, c.st.openKeys(), len(out.token)
	}
	c.observe(ctx, e)
}

// ends reports whether an error of this round ends its call. With a store, that of a
// round which was not claimed ends the request alone.
func (c *Call) ends() bool { return !c.remembered() || c.begins() || c.claim != nil }

// begins reports whether the call began with this request. The first round of a task has a
// state.
func (c *Call) begins() bool { return c.st.round == 1 && c.ex.token == "" }

// begunWith tells operators of a call that diverged which version it began with.
// Clients have no business with our builds.
func (c *Call) begunWith(err error) string {
	if reasonOf(err) == Diverged {
		return "begun with version " + c.st.version
	}
	return ""
}

// advance judges the answers that came back, and enters the handler only when
// all are answered; then it asks those that the handler needs. Guards and
// steps run in here.
func (c *Call) advance(ctx context.Context, r round) (*asked, error) {
	if c.st.round == 1 {
		if err := c.refuseUnaskable(); err != nil {
			return nil, err
		}
	}
	var ended error // by the answers
	cancelled := c.endsTask()
	// A round that was cut off, and then cancelled, had answers. It is claimed with those.
	if len(c.st.pending) > 0 && (cancelled == nil || len(c.ex.answers) > 0) {
		settled := false
		settled, ended = c.judgeAnswers(ctx)
		if ended == nil && !settled && cancelled == nil {
			c.reportAnswers(ctx, "")
			return c.suspend()
		}
	}
	if ended == nil && len(c.st.pending) > 0 {
		ended = cancelled
	}
	if c.remembered() && !c.begins() && (ended == nil || endedByAnswers(ended)) {
		if out, answered, err := c.takeTurn(ctx, &ended, r); answered {
			return out, err
		}
	}
	c.reportAnswers(ctx, "")
	if ended == nil && c.wasUndoing() {
		ended = &Error{Reason: OutcomeUnknown, Detail: "the server that ran this round was cut off while it undid its effects"}
	}
	if ended == nil {
		ended = cancelled
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
		c.enterAnew(entered)
		need, err := r.enter(ctx, c)
		if mistake := c.hooks.get().mistake; mistake != nil {
			return nil, mistake
		}
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
			if err := c.effectsHold(); err != nil {
				return nil, err
			}
			for _, fn := range c.hooks.get().complete {
				fn(ctx)
			}
			return nil, nil
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

// enterAnew begins an entry of the handler, in which it has read nothing yet.
func (c *Call) enterAnew(p phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase, c.looked = p, nil
	c.st.done.enterAnew()
}

// maxAsks bounds the rounds of this call that ask.
func (c *Call) maxAsks() int {
	limit := c.rt.opts.MaxRounds
	if c.ex.client.Era != era.Modern || c.task() != nil { // nobody follows its rounds but this server
		return limit
	}
	follows := followedAsks
	if f := c.rt.opts.FollowsRounds; f != nil {
		if n := f(c.ex.request); n > 0 {
			follows = n
		}
	}
	return min(limit, follows)
}

// countRound counts a round that goes out, and ends a call of more rounds than its
// client follows.
func (c *Call) countRound(asks bool) error {
	n := c.st.countRound(asks)
	if !asks && n > maxCarries {
		return limitExceeded(maxCarries, "rounds that only carry state in one call")
	}
	if limit := c.maxAsks(); asks && n > limit {
		return tooManyRounds(limit)
	}
	return nil
}

func tooManyRounds(limit int) error {
	return limitExceeded(limit, "rounds of questions in one call")
}
