package claim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/store"
)

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
	holders []string       // of the claims
	base    store.Revision // the last one that any of them would replace, 0 for none
	until   time.Time
}

// maxHolders bounds the claims of one turn that are remembered by name.
const maxHolders = 256

// disown lets go of a claim whose first write was not confirmed. It may still
// arrive, and would hold a turn that nobody runs.
func (h *Held) disown() {
	t := h.table
	t.mu.Lock()
	d := t.disowners[h.turn.Key]
	known := d != nil
	switch {
	case !known && len(t.disowners) >= maxDisowned, known && len(d.holders) >= maxHolders:
		t.mu.Unlock()
		return
	case !known:
		d = &disowner{}
		if t.disowners == nil {
			t.disowners = map[store.Key]*disowner{}
		}
		t.disowners[h.turn.Key] = d
	}
	d.holders, d.base, d.until = append(d.holders, h.record.holder), max(d.base, h.at), time.Now().Add(disownFor)
	t.mu.Unlock()
	if !known {
		t.later(func(ctx context.Context) {
			t.repeat(ctx, func() time.Time { return t.until(d) }, func() bool { return h.disowned(ctx, d) })
			t.mu.Lock()
			defer t.mu.Unlock()
			delete(t.disowners, h.turn.Key)
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
	holders, base := d.holders, d.base
	h.table.mu.Unlock()
	r, at, err := h.table.look(ctx, h.turn.Key)
	own := slices.Contains(holders, r.holder)
	settled := true
	switch {
	case errors.Is(err, store.ErrNotFound) && base == 0:
		h.record = h.record.freed()
		settled = h.create(ctx) == nil
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrForgotten):
	case err != nil, at < base: // Get lags behind
		return false
	case own && r.status == free:
	case own, at == base: // nothing else that is on its way can replace the next one
		holder := h.record.holder
		h.record, h.at = r.freed(), at
		h.record.holder = holder
		settled = h.update(ctx) == nil
	}
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return settled && len(d.holders) == len(holders) // else another came meanwhile
}
