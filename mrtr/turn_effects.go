package mrtr

import (
	"context"
	"errors"
	"slices"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
)

// With a store, the effects of a round that can run again are noted before they begin
// and when they have ended, so that none of them happens twice.

// doubt is why nobody knows whether an effect happened.
type doubt int

const (
	noDoubt      doubt = iota
	cutOffBefore       // in an earlier run of this round
	triedBefore        // in an attempt that this run, or an earlier round, knows of
)

func (c *Call) doubt(key string) doubt {
	c.mu.Lock()
	cl := c.claim
	tried := false
	for i := range c.st.done {
		if e := &c.st.done[i]; e.key == key && e.kind.isAttempt() && e.unknown {
			tried = true
		}
	}
	c.mu.Unlock()
	if cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if cl.doubts[key] {
			return cutOffBefore
		}
	}
	if tried {
		return triedBefore
	}
	return noDoubt
}

// unknown ends the round with an effect in doubt. The client gets the error,
// whatever the handler makes of it.
func (c *Call) unknown(key string) error {
	applied, _ := c.outcome()
	err := outcomeUnknown(applied, []string{key})
	c.breakTurn(err)
	return err
}

// noteBegin notes that an effect is about to begin. Where that fails it must not, and
// the round has no result.
func (c *Call) noteBegin(ctx context.Context, key string) error {
	cl := c.currentClaim()
	if cl == nil {
		return nil
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.broken != nil {
		return cl.broken
	}
	if !c.target.again {
		return nil
	}
	cl.begun = append(cl.begun, key)
	err := cl.held.Note(ctx, c.deedsOf(cl), cl.openEffects())
	if err == nil {
		return nil
	}
	cl.forget(key)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cl.broken = err
	if !errors.Is(err, claim.ErrFenced) {
		cl.broken = c.turnRefused(ctx, err)
	}
	return cl.broken
}

// noteEnd notes that an effect has ended, with the outcome that the state has.
func (c *Call) noteEnd(key string) {
	cl := c.currentClaim()
	if cl == nil {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	noted := cl.forget(key)
	delete(cl.doubts, key)
	if !noted || cl.broken != nil {
		return
	}
	// A failure shows when the outcome is recorded, and is no reason to stop now.
	if err := cl.held.Note(context.Background(), c.deedsOf(cl), cl.openEffects()); errors.Is(err, claim.ErrFenced) {
		cl.broken = err
	}
}

func (c *Call) breakTurn(err error) {
	if cl := c.currentClaim(); cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if cl.broken == nil {
			cl.broken = err
		}
	}
}

func (c *Call) currentClaim() *turnClaim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claim
}

func (c *Call) deedsOf(cl *turnClaim) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return appendDeeds(c.st.deedsSince(cl.base))
}

// forget takes an effect from those that have begun. The caller holds cl.mu.
func (cl *turnClaim) forget(key string) bool {
	i := slices.Index(cl.begun, key)
	if i < 0 {
		return false
	}
	cl.begun = slices.Delete(cl.begun, i, i+1)
	return true
}

// unnote forgets an effect that has ended without one, for the record of a turn that
// is let go of.
func (c *Call) unnote(key string) {
	if cl := c.currentClaim(); cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		cl.forget(key)
	}
}
