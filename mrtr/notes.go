package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
)

// With a store, the effects of a round that can run again are noted before they begin
// and when they have ended, so that none of them happens twice.

// journalStart notes that an effect is about to begin. Where that fails it must not, and
// the round has no result.
func (l *ledger) journalStart(ctx context.Context, open entry) error {
	cl := l.currentClaim()
	if cl == nil {
		return nil
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.broken != nil {
		return cl.broken
	}
	if !l.target.again {
		return nil
	}
	cl.open = append(cl.open, open)
	err := cl.held.Note(ctx, l.leaving(cl))
	if err == nil {
		return nil
	}
	cl.close(open)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cl.broken = err
	if !errors.Is(err, claim.ErrFenced) {
		cl.broken = l.turnRefused(ctx, err)
	}
	return cl.broken
}

// journalEnd notes that an effect has ended, with the outcome that the state has.
func (l *ledger) journalEnd(open entry) {
	cl := l.currentClaim()
	if cl == nil {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if !cl.close(open) || cl.broken != nil {
		return
	}
	if !cl.held.Ended(l.leaving(cl)) {
		cl.broken = claim.ErrFenced
	}
}

// journalDrop forgets an effect that has ended without one, for the record of a turn that
// is let go of.
func (l *ledger) journalDrop(open entry) {
	if cl := l.currentClaim(); cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		cl.close(open)
	}
}

// leftovers are the effects of a turn that ends without an outcome.
func (l *ledger) leftovers(cl *turnClaim) json.RawMessage {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return l.leaving(cl)
}

// leaving returns the effects of a turn for whoever goes on: those that have ended, and
// those that are open, which are in doubt then. Failures after the last effect that happened
// or may have are left out, so that the code does not meet them again. Those before it
// stay, since they decided the way to it: the first card was refused, and the second one
// charged. The caller holds cl.mu.
func (l *ledger) leaving(cl *turnClaim) json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, open := l.st.done.effectsSince(cl.base), slices.Clone(cl.open)
	for _, key := range slices.Sorted(maps.Keys(l.running.keys())) {
		if !slices.ContainsFunc(open, func(e entry) bool { return e.key == key && e.kind == triedEntry }) {
			open = append(open, openEffect(key, false))
		}
	}
	for end := len(entries); len(open) == 0 && end > 0 && entries[end-1].kind.isFailure(); {
		end--
		if e := entries[end]; e.unknown {
			open = append(open, openEffect(e.key, e.free))
		}
		entries = entries[:end]
	}
	return writeEffects(append(entries, open...))
}

// openEffect is an effect that has begun, and openUndoing the undoing of one. In the record of
// its turn it is in doubt until it has ended.
func openEffect(key string, free bool) entry {
	return entry{kind: triedEntry, key: key, unknown: true, free: free}
}

func openUndoing(key string) entry { return entry{kind: undoneEntry, key: key, unknown: true} }

// close takes an effect from those that have begun. The caller holds cl.mu.
func (cl *turnClaim) close(open entry) bool {
	i := slices.IndexFunc(cl.open, func(e entry) bool { return e.kind == open.kind && e.key == open.key })
	if i < 0 {
		return false
	}
	cl.open = slices.Delete(cl.open, i, i+1)
	return true
}

func (cl *turnClaim) brokenBy() error {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.broken
}

// ran counts an effect of the turn, for the time until which it may run; begun is false
// when it has ended.
func (cl *turnClaim) ran(until time.Time, begun bool) {
	if cl == nil {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if !begun {
		cl.effects--
		return
	}
	cl.effects++
	if until.After(cl.until) {
		cl.until = until
	}
}
