package mrtr

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

// round is one request's way through the engine.
type round struct {
	ledger
	typed typedRound
	own   Call  // of the handler, unless one that is held goes on
	out   asked // where this round asks
}

func newRound(t *target, ex exchange, typed typedRound) *round {
	rd := typed.begin()
	rd.target, rd.ex, rd.typed = t, ex, typed
	rd.own.at.Store(&rd.ledger)
	return rd
}

// call is that of the handler which goes through the history in this round: its own, or the one
// of the held handler that stands in for it.
func (rd *round) call() *Call {
	if r := rd.own.linear; r != nil {
		return r.call
	}
	return &rd.own
}

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
func (rt *Runtime) run(ctx context.Context, ex exchange, t *target, typed typedRound) (*asked, error) {
	rt.rounds.Add(1)
	defer rt.rounds.Add(-1)
	var began time.Time
	if rt.observer != nil { // nobody else asks for the time
		began = time.Now()
	}
	rd := newRound(t, ex, typed)
	if err := rd.openRound(ctx); err != nil {
		return nil, err
	}
	rd.life = ctx
	if out, err := rd.offerTask(ctx); out != nil || err != nil {
		return out, err
	}
	ctx, done := rd.heedTask(ctx)
	defer done()
	ctx = rd.startRound(ctx)
	rd.life = ctx
	out, err := rd.advanceGuarded(ctx)
	if err != nil || rd.claim != nil {
		out, err = rd.settleRound(ctx, out, safeError(err))
	}
	if rt.observer != nil && rd.phase != elsewhere { // else it knows
		rd.observeEnd(ctx, out, err, time.Since(began))
	}
	if out != nil && rd.own.goesOn() != nil { // the handler is held
		rd.releaseRequest()
	}
	return out, err
}

// releaseRequest lets go of the request while the handler waits for the next, and of what
// nobody asks for when the questions are at their client.
func (l *ledger) releaseRequest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ex.legacy == nil {
		l.st.dropQuestions()
		l.answered = nil
	}
	l.ex = exchange{method: l.ex.method, name: l.ex.name, client: l.ex.client}
}

// settleRound ends a round. Where code that others wrote does not let it, it lets go of the
// turn: its holder would else renew the claim for ever.
func (rd *round) settleRound(ctx context.Context, out *asked, err error) (*asked, error) {
	settled := false
	err = guard(func() (failed error) {
		out, failed = rd.settle(ctx, out, err)
		settled = true
		return failed
	})
	if cl := rd.currentClaim(); cl != nil && !settled {
		cl.held.LetGo(ctx, rd.leftovers(cl))
	}
	return out, err
}

// settle undoes the effects of a stopped call, and records the outcome of a turn.
func (rd *round) settle(ctx context.Context, out *asked, err error) (*asked, error) {
	if over := rd.gaveUp(ctx); over != nil {
		if !rd.target.again && !rd.target.cancel { // its turn has that outcome
			stops, _ := rd.unwind(ctx, false, over)
			rd.stop(ctx, stops, over)
		}
		return nil, over
	}
	if err != nil && rd.phase != elsewhere {
		if cancelled := rd.endedByTask(ctx, err); cancelled != nil {
			err = cancelled
		} else {
			err = rd.cutOff(ctx, err)
		}
		var stops []stop
		switch {
		case rd.resumable(ctx, err):
			rd.abandonFrame(endOf(ctx))
		case rd.ends():
			stops, err = rd.unwind(ctx, true, err)
			if task := rd.task(); task != nil {
				task.End()
			}
		}
		rd.stop(ctx, stops, err)
		err = rd.reportEffects(err)
	}
	if rd.claim != nil {
		return rd.conclude(ctx, out, err)
	}
	return out, err
}

// observeEnd tells the observer how a round ended.
func (rd *round) observeEnd(ctx context.Context, out *asked, err error, took time.Duration) {
	e := Event{Kind: CallCompleted, Duration: took}
	if s := rd.st.seen; s != nil {
		e.Answers = s.answered()
	}
	switch {
	case err != nil:
		e.Kind, e.Err, e.Reason = CallStopped, err, rd.begunWith(err)
	case out != nil:
		e.Kind, e.Questions, e.StateBytes = QuestionsAsked, rd.st.openKeys(), len(out.token)
	}
	rd.observe(ctx, e)
}

// ends reports whether an error of this round ends its call. With a store, that of a
// round which was not claimed ends the request alone.
func (rd *round) ends() bool { return !rd.remembered() || rd.begins() || rd.claim != nil }

// begins reports whether the call began with this request. The first round of a task has a
// state.
func (rd *round) begins() bool { return rd.st.round == 1 && rd.ex.token == "" }

// begunWith tells operators of a call that diverged which version it began with.
// Clients have no business with our builds.
func (rd *round) begunWith(err error) string {
	if reasonOf(err) == Diverged {
		return "begun with version " + rd.st.version
	}
	return ""
}

// advance judges the answers that came back, and enters the handler only when
// all are answered; then it asks those that the handler needs. Guards and
// steps run in here.
func (rd *round) advance(ctx context.Context) (*asked, error) {
	if rd.st.round == 1 {
		if err := rd.refuseUnaskable(); err != nil {
			return nil, err
		}
	}
	var ended error // by the answers
	cancelled := rd.endsTask()
	// A round that was cut off, and then cancelled, had answers. It is claimed with those.
	if len(rd.st.pending) > 0 && (cancelled == nil || len(rd.ex.answers) > 0) {
		settled := false
		settled, ended = rd.judgeAnswers(ctx)
		if ended == nil && !settled && cancelled == nil {
			rd.reportAnswers(ctx, "")
			return rd.suspend()
		}
	}
	if ended == nil && len(rd.st.pending) > 0 {
		ended = cancelled
	}
	if rd.remembered() && !rd.begins() && (ended == nil || endedByAnswers(ended)) {
		if out, answered, err := rd.takeTurn(ctx, &ended); answered {
			return out, err
		}
	}
	rd.reportAnswers(ctx, "")
	if ended == nil && rd.wasUndoing() {
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
	limit := rd.maxAsks()
	for range limit + 1 {
		rd.enterAnew(entered)
		need, err := rd.typed.enter(ctx, &rd.own)
		if mistake := rd.call().registrations().mistake; mistake != nil {
			return nil, mistake
		}
		if need != nil || err == errRefused {
			again, err := rd.takeBack(ctx)
			if err != nil {
				return nil, err
			}
			if again {
				return rd.suspend()
			}
		}
		if err != nil {
			return nil, err
		}
		if need == nil {
			if err := rd.call().effectsHold(); err != nil {
				return nil, err
			}
			for _, fn := range rd.call().registrations().complete {
				fn(ctx)
			}
			return nil, nil
		}
		answered, err := rd.take(need)
		if err != nil {
			return nil, err
		}
		if !answered {
			return rd.suspend()
		}
	}
	return nil, tooManyRounds(limit)
}

// enterAnew begins an entry of the handler, in which it has read nothing yet.
func (rd *round) enterAnew(p phase) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.phase, rd.own.looked = p, nil
	if rd.own.goesOn() == nil { // else the handler goes on, and has registered before
		rd.own.hooks, rd.own.linear = nil, nil
	}
	rd.st.done.enterAnew()
}

// maxAsks bounds the rounds of this call that ask.
func (rd *round) maxAsks() int {
	limit := rd.target.rt.opts.MaxRounds
	if rd.ex.client.Era != era.Modern || rd.task() != nil { // nobody follows its rounds but this server
		return limit
	}
	follows := followedAsks
	if f := rd.target.rt.opts.FollowsRounds; f != nil {
		if n := f(rd.ex.request); n > 0 {
			follows = n
		}
	}
	return min(limit, follows)
}

// countRound counts a round that goes out, and ends a call of more rounds than its
// client follows.
func (rd *round) countRound(asks bool) error {
	n := rd.st.countRound(asks)
	if !asks && n > maxCarries {
		return limitExceeded(maxCarries, "rounds that only carry state in one call")
	}
	if limit := rd.maxAsks(); asks && n > limit {
		return tooManyRounds(limit)
	}
	return nil
}

func tooManyRounds(limit int) error {
	return limitExceeded(limit, "rounds of questions in one call")
}
