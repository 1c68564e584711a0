package mrtr

import (
	"context"
	"sync/atomic"
)

// strandContext outlives the request that started the strand. Its values are
// those of the round that runs; it is cancelled when that round is, when the
// strand ends, and when the runtime closes; it has no deadline.
type strandContext struct {
	context.Context
	cancel context.CancelCauseFunc
	round  atomic.Pointer[context.Context]
}

func (c *strandContext) start() {
	c.Context, c.cancel = context.WithCancelCause(context.Background())
}

func (c *strandContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	if round := c.round.Load(); round != nil {
		return (*round).Value(key)
	}
	return nil
}
