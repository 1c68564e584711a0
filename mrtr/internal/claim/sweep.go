package claim

import (
	"context"
	"time"
)

// Expired records hold what users have said, so that they are not left to the next writes
// where a store does not drop them by itself: it is swept while it has any records at all.

const (
	sweepEvery = time.Minute
	sweepTime  = 20 * time.Second // of one sweep
)

// sweepSoon has the store swept, unless that is due already.
func (t *Table) sweepSoon() {
	if t.sweeper == nil || t.sweepDue.Load() || !t.sweepDue.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(sweepEvery, func() { t.later(t.sweep) })
}

func (t *Table) sweep(ctx context.Context) {
	t.sweepDue.Store(false) // before it looks: a record that it does not see has it swept again
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	if left, err := t.sweeper.Sweep(ctx); left || err != nil {
		t.sweepSoon()
	}
}
