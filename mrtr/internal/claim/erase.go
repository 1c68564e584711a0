package claim

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Erase empties the record of a turn, and reports whether it had anything to erase. The
// record itself stays until the time expires, since without it the turn would run again: a repeat
// gets a result that was not kept. A turn that runs is [ErrInFlight].
func (t *Table) Erase(ctx context.Context, key store.Key, expires time.Time) (erased bool, _ error) {
	for {
		r, at, err := t.look(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		case r.status == done && r.fingerprint == "" && len(r.result) == 0:
			return false, nil
		case r.status == running && (t.local || time.Since(r.written) <= r.lease+t.Skew):
			return false, ErrInFlight
		}
		h := &Held{table: t, turn: Turn{Key: key, Expires: expires}, at: at}
		h.record = record{status: done, holder: t.newHolder(), lease: r.lease}
		if err := h.update(ctx); !errors.Is(err, store.ErrConflict) {
			return err == nil, err
		}
	}
}
