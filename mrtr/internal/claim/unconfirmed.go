package claim

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// A write that nobody confirmed may have been done, or may yet be. The last record of a turn is
// written again, and a claim is let go of.

// persist goes on to write a last record that the store does not take, for as long as the turn can be
// asked for or looked after: its client may have been told the outcome, and whoever finds the turn as it
// was would undo that. However late the write comes, it is refused if another request has the turn by
// then. Beyond maxDisowned at once, it is tried for a lease.
func (h *Held) persist() {
	t := h.table
	end := h.turn.Expires
	if h.turn.Due.After(end) {
		end = h.turn.Due
	}
	t.mu.Lock()
	if t.unwritten++; t.unwritten > maxDisowned {
		end = time.Now().Add(h.record.lease)
	}
	t.mu.Unlock()
	begun := t.later(func(ctx context.Context) {
		defer t.persisted()
		t.repeat(ctx, func() time.Time { return end }, func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return isSettled(h.write(ctx))
		})
	})
	if !begun {
		t.persisted()
	}
}

// isSettled reports whether it is of no use to write a last record again. A store that is full has
// room again some day.
func isSettled(err error) bool {
	return err == nil || errors.Is(err, ErrFenced) || store.IsVerdict(err) && !errors.Is(err, store.ErrFull)
}

func (t *Table) persisted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unwritten--; t.unwritten == 0 && t.written != nil {
		close(t.written)
		t.written = nil
	}
}

// Flush waits until the store has taken the last record of every turn that has ended here, until a time
// at most.
func (t *Table) Flush(until time.Time) {
	t.mu.Lock()
	if t.unwritten > 0 && t.written == nil {
		t.written = make(chan struct{})
	}
	written := t.written
	t.mu.Unlock()
	if written == nil {
		return
	}
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case <-written:
	case <-late.C:
	}
}

// disownFor bounds how long a claim that nobody confirmed is looked after. A write
// that comes even later counts as a run that was cut off.
const disownFor = time.Minute

// maxDisowned bounds the turns whose claims are looked after at once: while a store is
// down, clients send their requests again and again. A write of the others that comes late
// counts as a run that was cut off.
const maxDisowned = 1000

// disowner looks after the claims of one turn whose first writes were not confirmed: a
// client that sends its request again and again makes many of them. It is guarded by
// Table.mu.
type disowner struct {
	claims []unconfirmed
	base   store.Revision // the last one that any of them would replace, 0 for none
	until  time.Time
}

// unconfirmed is a claim whose request was told that nothing was begun. So the turn has the effects
// that the claim found, and not those that it was made for.
type unconfirmed struct {
	holder string
	found  json.RawMessage
}

// maxHolders bounds the claims of one turn that are remembered by name.
const maxHolders = 256

// disown lets go of a claim whose first write was not confirmed. It may still
// arrive, and would hold a turn that nobody runs.
func (h *Held) disown() {
	t := h.table
	t.mu.Lock()
	d := t.disowners[place(h.turn.Key)]
	known := d != nil
	switch {
	case !known && len(t.disowners) >= maxDisowned, known && len(d.claims) >= maxHolders:
		t.mu.Unlock()
		return
	case !known:
		d = &disowner{}
		if t.disowners == nil {
			t.disowners = map[store.Key]*disowner{}
		}
		t.disowners[place(h.turn.Key)] = d
	}
	d.claims = append(d.claims, unconfirmed{h.record.holder, h.found})
	d.base, d.until = max(d.base, h.at), time.Now().Add(disownFor)
	t.mu.Unlock()
	if !known {
		t.later(func(ctx context.Context) {
			t.repeat(ctx, func() time.Time { return t.until(d) }, func() bool { return h.disowned(ctx, d) })
			t.mu.Lock()
			defer t.mu.Unlock()
			delete(t.disowners, place(h.turn.Key))
		})
	}
}

func (t *Table) until(d *disowner) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return d.until
}

// disowned writes a record that is free over the claims that were given up. It reports
// whether none of them can take effect any more.
func (h *Held) disowned(ctx context.Context, d *disowner) bool {
	h.table.mu.Lock()
	claims, base := d.claims, d.base
	h.table.mu.Unlock()
	r, at, err := h.table.look(ctx, h.turn.Key)
	i := slices.IndexFunc(claims, func(c unconfirmed) bool { return c.holder == r.holder })
	own, settled := i >= 0, true
	switch {
	case errors.Is(err, store.ErrNotFound) && base == 0:
		h.has(nil)
		h.record = h.record.freed()
		settled = h.create(ctx) == nil
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrForgotten):
	case err != nil, at < base: // Get lags behind
		return false
	case own && r.status != running: // it holds nothing, and others may go by its result
	case own, at == base: // nothing else that is on its way can replace the next one
		holder := h.record.holder
		if h.record, h.at = r, at; own {
			h.has(claims[i].found)
		} else {
			h.record.died()
		}
		h.record = h.record.freed()
		h.record.holder = holder
		settled = h.update(ctx) == nil
	}
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return settled && len(d.claims) == len(claims) // else another came meanwhile
}
