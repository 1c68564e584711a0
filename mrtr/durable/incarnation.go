package durable

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/store"
)

// A call belongs to the incarnation of the store in which it began, to its end. The mark in its states
// names that, and how far the store had come. In a later incarnation of the same contents a record that
// is found can be trusted. One that is missing or unfinished cannot: the store may have lost a later one,
// so a turn that runs then has every effect in doubt.

// mark is that of an epoch in which the store has come so far.
func mark(epoch string, reached store.Revision) string {
	return epoch + "." + strconv.FormatUint(uint64(reached), 36)
}

// readMark reads a mark, also one of an earlier release, which named the epoch alone.
func readMark(mark string) (epoch string, reached store.Revision) {
	epoch, text, _ := strings.Cut(mark, ".")
	at, _ := strconv.ParseUint(text, 36, 64)
	return epoch, store.Revision(at)
}

// mark is one that names how far the store has come by now, as this instance knows.
func (k *Keeper) mark(last string) string {
	epoch, reached := readMark(last)
	if marker, ok := k.records.store.(store.Marker); ok {
		reached = max(reached, marker.Reached(epoch))
	}
	return mark(epoch, reached)
}

// key is that of a record of the turn's call, and doubtful whether the call began in an earlier
// incarnation than the one where the store is now, as far as this instance knows.
func (k *Keeper) key(t keep.Turn, name string) (key store.Key, doubtful bool) {
	epoch, reached := readMark(t.Mark)
	if now := k.records.epoch.Load(); now != nil && *now != epoch && store.Kin(*now, epoch) {
		return store.Key{Epoch: *now, Name: name}, true
	}
	return store.Key{Epoch: epoch, Name: name, After: reached}, false
}

// follows asks for the present incarnation of a store that has refused a key of another one, and
// reports whether it is one of the same contents.
func (k *Keeper) follows(ctx context.Context, epoch string) (yes bool, _ error) {
	k.records.Forgotten()
	now, err := k.records.Epoch(ctx)
	return err == nil && now != epoch && store.Kin(now, epoch), err
}

// moved is where the record of a living holder goes when the store has begun another incarnation.
func (k *Keeper) moved(ctx context.Context, key store.Key) (now store.Key, ok bool) {
	if follows, err := k.follows(ctx, key.Epoch); err != nil || !follows {
		return key, false
	}
	if epoch := k.records.epoch.Load(); epoch != nil {
		return store.Key{Epoch: *epoch, Name: key.Name}, true
	}
	return key, false
}

// outlast waits until a holder of the turn in the earlier incarnation, who may be at work, has taken it
// along, or has had the time to.
func (n *notes) outlast(ctx context.Context) error {
	until := n.k.records.learnedAt().Add(n.k.o.Lease)
	for time.Now().Before(until) {
		standing, _, err := n.k.turns.Standing(ctx, n.turn.Key, true, n.t.Handler)
		if err != nil || standing != claim.Unclaimed {
			return err
		}
		look := time.NewTimer(min(time.Until(until), n.k.o.Lease/lookAgain))
		select {
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return ctx.Err()
		}
	}
	return nil
}

// lookAgain is how often in a lease a turn is looked at that may be taken along.
const lookAgain = 20

// claim claims the turn, in whichever incarnation the store is.
func (n *notes) claim(ctx context.Context) (claim.Answer, error) {
	for {
		if n.doubts || n.t.First != nil && n.k.records.hasMoved() {
			if err := n.outlast(ctx); err != nil && !errors.Is(err, store.ErrForgotten) {
				return claim.Answer{}, err
			}
		}
		a, err := n.k.turns.Take(ctx, n.turn)
		if !errors.Is(err, store.ErrForgotten) || n.t.First != nil { // it begins again, in the present one
			return a, err
		}
		follows, failed := n.k.follows(ctx, n.turn.Key.Epoch)
		switch {
		case failed != nil:
			return a, failed
		case !follows:
			return a, err
		}
		n.turn.Key, n.doubts = n.k.key(n.t, n.t.Name)
	}
}
