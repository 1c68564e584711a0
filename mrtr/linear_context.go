package mrtr

import (
	"context"
	"sync/atomic"
)

// linearContext outlives the request that started a linear run. It has the values
// of the round that runs. It is cancelled with that round, with the run and with
// the runtime, and it has no deadline.
type linearContext struct {
	context.Context
	cancel context.CancelCauseFunc
	round  atomic.Pointer[context.Context]
}

func (c *linearContext) start() {
	c.Context, c.cancel = context.WithCancelCause(context.Background())
}

// endOf says why a call has ended whose handler is still held: its request ended, or
// else its user declined or did not answer, which is no more than that.
func endOf(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return context.Canceled
}

func (c *linearContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	if round := c.round.Load(); round != nil {
		return (*round).Value(key)
	}
	return nil
}
