package claim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Held is a turn that a request runs. It may be used from several goroutines.
type Held struct {
	table *Table
	turn  Turn

	mu     sync.Mutex // held during a write, so that they go out one after another
	record record
	at     store.Revision // of the last write that was confirmed; 0 before the first
	unsure bool           // a later write may have been done, or may yet be
	fenced bool           // another request holds the turn
	ended  bool
	due    time.Time // when the call of a turn that is done has to be looked after; zero for never
	lives  time.Time // until then, where it is due
	beat   *time.Timer
	// found are the effects of the turn before this claim.
	found json.RawMessage
	// encoded is the buffer of the record in JSON, for one write after another: no store
	// keeps a value.
	encoded []byte
	buffer  [320]byte // for most records, with their result
}

// start begins to write the record again every third of a lease.
func (h *Held) start() {
	if h.table.local || h.ended {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beat = time.AfterFunc(h.record.lease, h.renew) // which needs the field
	h.beat.Reset(h.record.lease / 3)
}

func (h *Held) renew() {
	if !h.mu.TryLock() { // by a note, which is a sign of life and sees to the next, or by an end
		return
	}
	defer h.mu.Unlock()
	if h.ended || h.fenced {
		return
	}
	_ = h.write(h.table.ctx) // a failure shows at the next effect, and at the end
	h.beat.Reset(h.record.lease / 3)
}

// Note records the effects of the turn before the next one begins, which is one of them. An
// effect that is not noted must not run.
//
// It returns [ErrFenced] where another request has taken over, and otherwise the
// error of the store. The turn may then go on without the effect, and its result
// must not be used.
func (h *Held) Note(ctx context.Context, effects json.RawMessage) error {
	if h.table.local {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended { // by its round: a goroutine that outlives it may not begin anything
		return ErrFenced
	}
	h.has(effects)
	h.record.notes = true
	defer h.beat.Reset(h.record.lease / 3)
	for range maxNotes {
		began := time.Now()
		if err := h.write(ctx); err != nil {
			return err
		}
		// A holder that stood still meanwhile may have been given up since.
		if time.Since(began) <= h.record.lease/2 {
			return nil
		}
	}
	return errTooSlow
}

// soon is the part of a lease within which the end of an effect is written.
const soon = 100

// Ended notes the effects of the turn after one of them has ended. The next write carries
// that: it costs no other one if the turn ends here, and a turn that goes on writes soon.
// Whoever takes over before has the effect in doubt. It reports false where another request
// is known to hold the turn.
func (h *Held) Ended(effects json.RawMessage) bool {
	if h.table.local {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return !h.fenced
	}
	h.has(effects)
	h.beat.Reset(h.record.lease / soon)
	return !h.fenced
}

// has sets the effects of the turn. With them it is due before its end. The caller holds h.mu.
func (h *Held) has(effects json.RawMessage) {
	h.record.effects, h.record.due, h.record.asked = effects, time.Time{}, nil
	if len(effects) > 0 {
		h.record.due, h.record.lives, h.record.asked = h.turn.Due, h.atLeast(h.turn.Lives), h.turn.Asked
	}
}

// maxNotes bounds how often a note is made that came too late each time.
const maxNotes = 3

var errTooSlow = errors.New("the store took longer for a write than half of the lease, again and again")

// Due is called before Finish where somebody has to look after the call, if nobody has gone on with
// it at a time. Its record lives until another time then.
func (h *Held) Due(at, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.due, h.lives = at, h.atLeast(until)
}

// atLeast is until when a record lives that has to live until a time, and until its turn expires.
func (h *Held) atLeast(until time.Time) time.Time {
	if h.turn.Expires.After(until) {
		return h.turn.Expires
	}
	return until
}

// Finish records the result of the turn, even if ctx has ended, unless the turn has an end
// already. If there is none, or it does not fit, the short one takes its place. One that somebody has
// to look after is [ErrNotTaken] then, and also where the store does not confirm it: the turn goes on,
// and is to be let go of.
func (h *Held) Finish(ctx context.Context, result, short json.RawMessage) error {
	ctx = h.table.detached(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return ErrFenced
	}
	looked := !h.due.IsZero()
	if looked && len(result) == 0 {
		return fmt.Errorf("%w: %w", ErrNotTaken, store.ErrTooLarge)
	}
	if len(result) == 0 {
		result = short
	}
	before := h.record
	h.end()
	h.record.status, h.record.effects, h.record.asked = done, nil, nil
	h.record.due, h.record.lives, h.record.result = h.due, h.lives, result
	err := h.write(ctx)
	fits := !errors.Is(err, store.ErrTooLarge) && !errors.Is(err, store.ErrFull)
	switch {
	case looked && (!fits || !isSettled(err)):
		h.record, h.ended = before, false
		return fmt.Errorf("%w: %w", ErrNotTaken, err)
	case !fits:
		h.record.result = short
		err = h.write(ctx)
	}
	if !isSettled(err) {
		h.persist()
	}
	return err
}

// Ran clears the mark of a turn that was cut off: a run of it began in this claim, and ended by itself.
func (h *Held) Ran() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.record.cut = false
}

// LetGo gives the turn, with the effects it has had, to whoever comes next. It does so
// where ctx has ended too.
func (h *Held) LetGo(ctx context.Context, effects json.RawMessage) {
	ctx = h.table.detached(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.end()
	h.has(effects)
	h.record = h.record.freed()
	if !isSettled(h.write(ctx)) {
		h.persist()
	}
}

// end stops the holder's signs of life.
func (h *Held) end() {
	h.ended = true
	if h.beat != nil {
		h.beat.Stop()
	}
}

// create makes the record of a turn that has none.
func (h *Held) create(ctx context.Context) error {
	ctx, cancel := h.table.bounded(ctx)
	defer cancel()
	value, ttl, err := h.sealed()
	if err != nil {
		return err
	}
	if scheduler := h.table.Scheduler; scheduler != nil && !h.record.due.IsZero() {
		h.at, err = scheduler.Schedule(ctx, h.turn.Key, 0, value, ttl, h.record.due)
	} else {
		h.at, err = h.table.Store.Create(ctx, h.turn.Key, value, ttl)
	}
	return err
}

func (h *Held) update(ctx context.Context) error {
	ctx, cancel := h.table.bounded(ctx)
	defer cancel()
	value, ttl, err := h.sealed()
	if err != nil {
		return err
	}
	var at store.Revision
	if scheduler := h.table.Scheduler; scheduler != nil && !h.record.due.IsZero() {
		at, err = scheduler.Schedule(ctx, h.turn.Key, h.at, value, ttl, h.record.due)
	} else {
		at, err = h.table.Store.Update(ctx, h.turn.Key, h.at, value, ttl)
	}
	if err == nil {
		h.at, h.unsure = at, false
	}
	return err
}

// replace puts the claim in place of a record that binds nobody, with what that has of the
// turn so far. Where the record has changed meanwhile the turn is to be looked at again.
func (h *Held) replace(ctx context.Context, r *record, at store.Revision) (again bool, _ error) {
	own := h.record
	h.at, h.found = at, nil
	if r.status != done { // else that was another call
		h.record.cutOff, h.record.cut, h.found = r.cutOff, r.cut, r.effects
		if !r.since.IsZero() {
			h.record.since = r.since
		}
		begun := len(own.effects) > 0 || own.status == done
		switch {
		case len(r.effects) > 0: // the outcome was made without them
			h.has(r.effects)
			h.record.call = cmp.Or(r.call, own.call) // which they are under
			h.record.status, h.record.result, h.ended = running, nil, false
		case !begun:
			h.record.call = cmp.Or(r.call, own.call)
		}
	}
	err := h.update(ctx)
	switch {
	case errors.Is(err, store.ErrConflict):
		h.record, h.at, h.ended = own, 0, own.status == done
		return true, nil
	case err != nil && !store.IsVerdict(err):
		h.disown()
	}
	return false, err
}

// write updates the record. After a write that nobody confirmed it looks whether
// that one was done. The caller holds h.mu.
func (h *Held) write(ctx context.Context) error {
	for pause := firstPause; ; pause *= 2 {
		if h.fenced {
			return ErrFenced
		}
		err := h.update(ctx)
		switch {
		case err == nil:
			return nil
		case !store.IsVerdict(err):
			h.unsure = true
			return err
		case errors.Is(err, store.ErrForgotten) && h.move(ctx):
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		case !h.unsure:
			h.fenced = true
			return ErrFenced
		}
		r, at, err := h.table.look(ctx, h.turn.Key)
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && r.holder != h.record.holder:
			h.fenced = true
		case err != nil:
			return err
		case r.status == done || r.status == h.record.status && r.status != running: // others may have read it
			h.at, h.unsure = at, false
			return nil
		case at > h.at:
			h.at, h.unsure = at, false
		default: // Get lags behind
			if err := h.table.pause(ctx, pause, time.Now().Add(h.table.Patience)); err != nil {
				return err
			}
		}
	}
}

// move takes the record of a living holder along into the next incarnation of the store, unless another
// request has the turn there. The caller holds h.mu.
func (h *Held) move(ctx context.Context) (moved bool) {
	if h.table.Moved == nil {
		return false
	}
	key, ok := h.table.Moved(ctx, h.turn.Key)
	if !ok {
		return false
	}
	r, at, err := h.table.look(ctx, key)
	h.turn.Key, h.at = key, at
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = h.create(ctx)
	case err == nil && r.holder == h.record.holder:
		err = h.update(ctx)
	case err == nil:
		err = store.ErrExists
	}
	h.fenced = errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrConflict)
	h.unsure = err != nil
	return err == nil
}

// sealed is the record as it is stored, and how long it is to live.
func (h *Held) sealed() ([]byte, time.Duration, error) {
	h.record.written = time.Now()
	if h.encoded == nil {
		h.encoded = h.buffer[:0]
	}
	h.encoded = h.record.appendTo(slices.Grow(h.encoded[:0], len(h.record.result)+len(h.record.effects)))
	expires := h.turn.Expires
	if !h.record.due.IsZero() {
		expires = h.record.lives
	}
	ttl := min(max(expires.Sub(h.record.written), store.MinTTL), store.MaxTTL)
	value, err := h.table.seal(h.turn.Key, h.encoded)
	return value, ttl, err
}
