package mrtr

import (
	"context"
	"time"
)

// An effect is not cut in the middle because somebody stopped waiting for it. Its context
// has the values of the round's, and neither its cancellation nor its deadline.

// effectContext is the context of an effect's function. It ends with the runtime's
// effects alone. It tells an effect inside another from one beside it.
type effectContext struct {
	context.Context // ends when Close gives up on effects
	values          context.Context
	call            *Call
}

type insideEffect struct{}

func (c effectContext) Value(key any) any {
	if key == (insideEffect{}) {
		return c.call
	}
	if v := c.Context.Value(key); v != nil { // package context finds the parent by a key
		return v
	}
	return c.values.Value(key)
}

// shield makes the context of an effect from the author's, and keeps of its cancellation
// only what the author added. An effect inside another lives in the
// context of that one. The error is that of a round which has ended, or of a context that
// the author ended: then the effect does not begin.
func (r *effectRun) shield(ctx context.Context, within time.Duration) (_ context.Context, release func(), _ error) {
	if r.inner {
		ctx, cancel := context.WithTimeout(ctx, within)
		return ctx, cancel, nil
	}
	life := r.call.roundLife()
	for _, over := range [...]error{life.Err(), ctx.Err()} {
		if over != nil {
			return nil, nil, over
		}
	}
	until := time.Now().Add(within)
	if own, ok := ctx.Deadline(); ok && own.Before(until) {
		if end, ok := life.Deadline(); !ok || own.Before(end) {
			until = own
		}
	}
	base := effectContext{Context: r.call.rt.effects, values: ctx, call: r.call}
	bounded, end := context.WithDeadline(base, until)
	shielded, cancel := context.WithCancelCause(bounded)
	unhook := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled && life.Err() == nil {
			cancel(context.Cause(ctx))
		}
	})
	cl := r.call.currentClaim()
	cl.ran(until, true)
	return shielded, func() {
		cl.ran(until, false)
		unhook()
		cancel(context.Canceled)
		end()
	}, nil
}

// roundLife is the context that ends with the round.
func (c *Call) roundLife() context.Context {
	if c.linear != nil {
		return &c.linear.ctx
	}
	return c.life
}

// underway are the effects of a call that run. They are guarded by the call's lock.
type underway struct {
	began map[string]int // each with the length of the history when it began
	quiet chan struct{}  // closed when none is left, nil unless awaited
	of    *Call          // the call of the linear run that they are a copy of, or nil
}

func (u *underway) keys() map[string]int {
	if u == nil {
		return nil
	}
	return u.began
}

func (u *underway) any() bool { return len(u.keys()) > 0 }

func (u *underway) end(key string) {
	delete(u.began, key)
	if len(u.began) == 0 && u.quiet != nil {
		close(u.quiet)
		u.quiet = nil
	}
}

// effectsEnd is closed when no effect of the call runs any more, nil where none does.
func (c *Call) effectsEnd() <-chan struct{} {
	c.mu.Lock()
	u := c.running
	if u != nil && u.of != nil {
		c.mu.Unlock()
		return u.of.effectsEnd()
	}
	defer c.mu.Unlock()
	if !u.any() {
		return nil
	}
	if u.quiet == nil {
		u.quiet = make(chan struct{})
	}
	return u.quiet
}
