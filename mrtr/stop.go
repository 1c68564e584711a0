package mrtr

import (
	"context"
	"errors"
	"slices"
	"time"
)

// OnStop runs undo when the call ends without completing, with the error that ends it:
// a question was declined or never answered, the handler failed, its client cannot be
// asked or hung up, or its time was up. effect is the key of the [Once] that it undoes:
//
//	seat, err := mrtr.Once(ctx, c, "reserve", desk.Reserve)
//	...
//	c.OnStop("reserve", func(ctx context.Context, idem string, err error) error {
//		return desk.Release(ctx, idem, seat)
//	})
//
// A held handler keeps its registrations. Any other is entered once more when the call
// stops in a round that did not enter it, as by a decline: it takes its way to the
// question with the answers and effects that the state remembers, no other effect
// runs, and the functions that it registered on the way are run. A handler that never
// called OnStop is not entered for it, unless a round of it was cut off.
//
//   - The functions run in reverse order, before the client gets its result. No Once in
//     them runs: each is an effect itself. idem is the same whenever it runs for this call
//     and the answers that the effect stands on.
//   - nil says that the effect was undone, and the client is told so. With an error it
//     could not be undone, and whether it was is in doubt after an error that leaves the
//     outcome of an effect open, a panic and a Goexit. The observer gets [EffectUndone] or
//     [StopFailed].
//   - With a store it runs once: where its instance was cut off while it ran, the
//     one that takes over does not run it again, and says that it is in doubt. It does not
//     run where the same request can go on with the call: the error is retryable and the
//     handler no Coroutine, or another instance took the round over. A client that hangs up
//     does not end the call.
//   - Without a store it runs as often as a client sends the state of a round in which the
//     call stops, each time with the same idem. A client that sends an earlier state of a
//     call that stopped goes on from there, and the effects that were undone count as done.
//   - ctx has the values of the round, is not cancelled with it, and ends after 5 minutes.
//   - err is context.DeadlineExceeded where a held handler waited too long.
//   - Nobody runs it where nobody knows of the end: the user went away and nothing is
//     held, the state has expired, or the process was killed. Nor does a handler whose
//     code changed so that it no longer comes to OnStop ([Diverged]).
//   - It waits for an effect that still runs when the call ends. The request does not, and
//     is told that the outcome is in doubt.
//   - The same effect twice in one entry of the handler is a [UsageError].
//   - A step cannot call it, since a step that has run is not run again: see
//     [Steps.OnStop].
func (c *Call) OnStop(effect string, undo func(ctx context.Context, idem string, err error) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.walk != noSteps {
		panic(misuse("OnStop is called in a step, which does not run again when the call stops: use Steps.OnStop"))
	}
	c.addStop(stop{key: effect, undo: undo})
}

// stop is a function that undoes an effect.
type stop struct {
	key  string // of the effect, as it is filed
	undo func(ctx context.Context, idem string, err error) error
}

// addStop registers a function of OnStop. The caller holds c.mu.
func (c *Call) addStop(s stop) {
	h := c.hooks.get()
	if slices.ContainsFunc(h.stop, func(other stop) bool { return other.key == s.key }) {
		h.mistake = twice(s.key, "functions of OnStop")
	} else {
		h.stop = append(h.stop, s)
	}
	c.hooks = &h
	c.st.useStops()
}

// takeStops hands out the functions to run when the call stops, once.
func (c *Call) takeStops() []stop {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hooks.get()
	stops := h.stop
	if stops != nil {
		h.stop = nil
		c.hooks = &h
	}
	return stops
}

// unwind ends the held handler of a call that has stopped, and finds the functions to run.
// Without a round there is no way to enter the handler, and no need: the functions that it
// registered last still hold. The error is that of the call, or refuses the request where
// the handler could not be entered and another instance can.
func (c *Call) unwind(ctx context.Context, r round, err error) ([]stop, error) {
	if held, stops := c.abandonFrame(endOf(ctx)); held {
		for _, s := range c.takeStops() { // they are the same, or left to the handler's goroutine
			if stops == nil {
				c.leaveUndoing(s.key)
			}
		}
		return stops, err
	}
	if !c.mayHaveStops() || r == nil || c.phase == entered && (c.onlyHere || reasonOf(err) != Diverged) {
		return c.takeStops(), err
	}
	// A handler that took another way did not come to all that it registered on the old one.
	registered := c.takeStops()
	stops, refused := c.collectStops(ctx, r)
	switch {
	case len(stops) > len(registered):
		return stops, err
	case refused != nil && len(registered) == 0:
		return nil, refused
	}
	return registered, err
}

// mayHaveStops reports whether the handler has called OnStop. A run of the turn that was cut
// off may have.
func (c *Call) mayHaveStops() bool {
	cl := c.currentClaim()
	return c.st.stops || cl != nil && len(cl.left) > 0
}

// maxCollecting bounds the way of a handler to the question that its call stopped at.
const maxCollecting = 10 * time.Second

// collectStops enters the handler once more, for the functions that it registers. The error
// is that of a handler that could not be entered.
func (c *Call) collectStops(ctx context.Context, r round) (_ []stop, refused error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCollecting)
	defer cancel()
	c.enterAnew(stopping)
	c.hooks = nil
	end := guard(func() error { // how it comes to its end does not matter: the call has an error
		_, err := r.enter(ctx, c)
		return err
	})
	if c.phase == elsewhere {
		return nil, end
	}
	if held, stops := c.abandonFrame(endOf(ctx)); held {
		c.takeStops()
		return stops, nil
	}
	return c.takeStops(), nil
}

// stop undoes the effects of a call that has stopped. Where an effect still runs, which a
// goroutine of the handler's has left behind, that waits for it, and the request does not.
func (l *ledger) stop(ctx context.Context, stops []stop, err error) {
	end := l.effectsEnd()
	var waiting []stop
	for _, s := range slices.Backward(stops) {
		if !l.beginUndo(ctx, s.key) {
			continue
		}
		if end != nil {
			l.leaveUndoing(s.key)
			waiting = append(waiting, s)
			continue
		}
		l.undo(ctx, s, err)
		l.journalEnd(openUndoing(s.key))
	}
	if len(waiting) > 0 {
		go func() {
			<-end
			for _, s := range waiting {
				l.undo(ctx, s, err)
			}
		}()
	}
}

// wasUndoing reports whether an earlier run of the turn has begun to undo its effects. Its
// call has stopped then, and must not complete, whatever its handler would do now. The rest
// is undone here, but for the effect whose undoing was cut off.
func (l *ledger) wasUndoing() bool {
	return l.currentClaim() != nil && slices.ContainsFunc(l.st.done, func(e entry) bool { return e.kind.isUndoing() })
}

// beginUndo notes that an effect is about to be undone. It is false where that must not
// run: another instance has done it, or began it and was cut off, or has taken the turn
// over, or the store cannot tell.
func (l *ledger) beginUndo(ctx context.Context, key string) bool {
	l.mu.Lock()
	done := l.st.done.undoing(key) != nil
	l.mu.Unlock()
	if cl := l.currentClaim(); cl != nil && !done {
		if errors.Is(cl.brokenBy(), errGivenUp) { // the turn has its outcome
			return true
		}
	}
	return !done && l.journalStart(context.WithoutCancel(ctx), openUndoing(key)) == nil
}

// leaveUndoing notes that nobody knows whether an effect is undone.
func (l *ledger) leaveUndoing(key string) {
	l.undid(entry{kind: undoneEntry, key: key, unknown: true})
}

// undid records what became of undoing an effect. The handler's goroutine may still write to
// its own history.
func (l *ledger) undid(undo entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.st.unshare()
	l.st.record(undo)
}

// mayHaveHappened reports whether there is anything to undo of an effect. One that outlived
// its round is in the history of the handler's goroutine alone.
func (l *ledger) mayHaveHappened(key string) bool {
	l.mu.Lock()
	u := l.running
	happened := slices.ContainsFunc(l.st.done, func(e entry) bool { return e.key == key && (e.kind.isEffect() || e.kind.isFailure() && e.unknown) })
	l.mu.Unlock()
	return happened || u != nil && u.of != nil && u.of.mayHaveHappened(key)
}

// undo runs a function of OnStop, which is an effect, and records how it ended.
func (l *ledger) undo(ctx context.Context, s stop, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultWithin)
	defer cancel()
	l.mu.Lock()
	idem := l.st.id + "!" + l.st.done.answersBefore(s.key, l.st.done.isFree(s.key)) + "!" + s.key
	l.mu.Unlock()
	known, began := false, time.Now()
	failed := guard(func() error {
		failed := s.undo(ctx, idem, err)
		known = failed == nil || !ofUnknownOutcome(ctx, failed)
		return failed
	})
	e := Event{Kind: EffectUndone, Effect: effectName(s.key), Duration: time.Since(began)}
	outcome := entry{kind: undoneEntry, key: s.key}
	switch {
	case failed == nil:
	case !known:
		outcome.unknown = true
		e.Kind, e.Err, e.Reason = StopFailed, failed, "nobody knows whether it was undone"
	default:
		outcome.kind = keptEntry
		e.Kind, e.Err, e.Reason = StopFailed, failed, "it could not be undone"
	}
	l.undid(outcome)
	if failed != nil || l.mayHaveHappened(s.key) {
		l.observe(ctx, e)
	}
}

// runStops undoes the effects of a call that no request waits for, and that no store
// remembers.
func (l *ledger) runStops(ctx context.Context, stops []stop, err error) {
	for _, s := range slices.Backward(stops) {
		l.undo(ctx, s, err)
	}
}

// OnStop undoes the effect of a step when the call ends without completing, as
// [Call.OnStop] does. It reads the values of the steps that happened, see [Step.Happened]. A
// step that may have happened has no value, and is undone by what idem finds, see [Step.InDoubt].
func (b *Steps[In, Out]) OnStop(step string, undo func(ctx context.Context, at *At[In], idem string, err error) error) {
	b.stops = append(b.stops, stepStop[In]{step, undo})
}

// stepStop is a function that undoes the effect of a step.
type stepStop[In any] struct {
	key  string
	undo func(ctx context.Context, at *At[In], idem string, err error) error
}

// stopping registers the functions that undo the steps of a call.
func (l *stepList[In, Out]) stopping(at *At[In]) {
	c := at.Call
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range l.stops {
		i := slices.IndexFunc(l.steps, func(other step[In]) bool { return other.key == s.key })
		c.addStop(stop{
			key:  l.steps[i].filed(),
			undo: func(ctx context.Context, idem string, err error) error { return s.undo(ctx, at, idem, err) },
		})
	}
}

// Happened reports whether the step has been taken and not skipped, so that it has a
// value.
func (s Step[T]) Happened(at stepValues) bool {
	v := s.at(at)
	return v.happened && !v.skipped
}

// InDoubt reports whether the step began and nobody knows whether it happened, see [Once].
func (s Step[T]) InDoubt(at stepValues) bool {
	s.at(at)
	return at.inDoubt(stepPrefix + s.key)
}
