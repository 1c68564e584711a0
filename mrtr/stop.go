package mrtr

import (
	"context"
	"slices"
	"time"
)

// OnStop runs fn when the call ends without completing, with the error that ends it:
// a question was declined or never answered, the handler failed, its client cannot be
// asked or hung up, or its time was up. It is the place to undo the effects of [Once]:
//
//	seat, err := mrtr.Once(ctx, c, "reserve", desk.Reserve)
//	...
//	c.OnStop(func(ctx context.Context, err error) { desk.Release(ctx, seat) })
//
// A held handler keeps its registrations. Any other is entered once more when the call
// stops in a round that did not enter it, as by a decline: it takes its way to the
// question with the answers and effects that the state remembers, no other effect
// runs, and the functions that it registered on the way are run. A handler that never
// called OnStop is not entered for it.
//
//   - The functions run in reverse order, before the client gets its result, once along
//     one chain of states. No Once in them runs: they run only once themselves.
//   - ctx has the values of the round and is not cancelled with it. A function that may
//     hang has to bound itself.
//   - A panic in one ends that function alone. The observer gets it ([StopFailed]).
//   - err is context.DeadlineExceeded where a held handler waited too long.
//   - Nobody runs it where nobody knows of the end: the user went away and nothing is
//     held, the state has expired, or the process was killed. Nor does a handler whose
//     code changed so that it no longer comes to OnStop ([Diverged]).
//   - With a store it runs at most once: where its instance was cut off while it ran, the
//     one that takes over does not run it again. It does not run where the same request
//     can go on with the call: its client hung up, the error is retryable, or another
//     instance took the round over.
//   - Without a store, a client that sends an earlier state of a call that stopped goes
//     on from there, and the effects that were undone count as done.
//   - A step cannot call it, since a step that has run is not run again: see
//     [Steps.OnStop].
func (c *Call) OnStop(fn func(ctx context.Context, err error)) {
	c.mu.Lock()
	inSteps := c.inSteps
	c.mu.Unlock()
	if inSteps {
		panic(misuse("OnStop is called in a step, which does not run again when the call stops: use Steps.OnStop"))
	}
	c.addStop(fn)
}

func (c *Call) addStop(fn func(ctx context.Context, err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks = &hooks{c.hooks.onComplete(), append(c.hooks.onStop(), fn)}
	c.st.useStops()
}

// takeStops hands out the functions to run when the call stops, once.
func (c *Call) takeStops() []func(context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stops := c.hooks.onStop()
	if stops != nil {
		c.hooks = &hooks{complete: c.hooks.complete}
	}
	return stops
}

// unwind ends the held handler of a call that has stopped, and finds the functions to run.
// Between two rounds of a bridge there is no way to enter the handler, and no need:
// [noteRound] keeps the functions that it registered.
func (c *Call) unwind(ctx context.Context, enter enterFunc) []func(context.Context, error) {
	if held, stops := c.abandonFrame(endOf(ctx)); held {
		c.takeStops() // they are the same
		return stops
	}
	if c.ran || !c.st.stops || enter == nil {
		return c.takeStops()
	}
	return c.collectStops(ctx, enter)
}

// maxCollecting bounds the way of a handler to the question that its call stopped at.
const maxCollecting = 10 * time.Second

// collectStops enters the handler once more, for the functions that it registers.
func (c *Call) collectStops(ctx context.Context, enter enterFunc) []func(context.Context, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCollecting)
	defer cancel()
	c.stopping = true
	func() {
		var err error // how it comes to its end does not matter: the call has an error
		defer recovered(&err)
		_, _ = enter(ctx, c)
	}()
	if held, stops := c.abandonFrame(endOf(ctx)); held {
		c.takeStops()
		return stops
	}
	return c.takeStops()
}

// stopsKey names the functions of OnStop in the record of a turn. No effect has such a key.
const stopsKey = "on stop"

// noteStops notes that the functions of a call that has stopped are about to run. It is
// false where they must not: another instance began them and was cut off, or has taken
// the turn over, or the store cannot tell.
func (c *Call) noteStops(ctx context.Context) bool {
	cl := c.currentClaim()
	if cl == nil {
		return true
	}
	cl.mu.Lock()
	began := cl.doubts[stopsKey]
	cl.mu.Unlock()
	return !began && c.noteBegin(context.WithoutCancel(ctx), stopsKey) == nil
}

// runStops runs the functions of a call that has stopped.
func (c *Call) runStops(ctx context.Context, stops []func(context.Context, error), err error) {
	ctx = context.WithoutCancel(ctx)
	for _, stop := range slices.Backward(stops) {
		if failed := onOwnGoroutine(func() error { stop(ctx, err); return nil }); failed != nil {
			c.observe(ctx, Event{Kind: StopFailed, Err: failed})
		}
	}
}

// OnStop runs f when the call ends without completing, as [Call.OnStop] does. It reads
// the values of the steps that happened, see [Step.Happened].
func (b *Steps[In, Out]) OnStop(f func(ctx context.Context, at *At[In], err error)) {
	b.stop = f
	b.stops++
}

// Happened reports whether the step has been taken and not skipped, so that it has a
// value.
func (s Step[T]) Happened(at stepValues) bool {
	v := s.at(at)
	return v.happened && !v.skipped
}
