package mrtr

import (
	"context"
	"fmt"
	"time"
)

// schedule sets the timer for the oldest frame. The caller holds t.mu.
func (t *frameTable) schedule() {
	if t.parked.first == nil || t.closed {
		return
	}
	wait := t.parked.first.expires - time.Since(t.began)
	if t.janitor == nil {
		t.janitor = time.AfterFunc(wait, t.evict)
		return
	}
	t.janitor.Reset(wait)
}

// evict unwinds the frames whose time is up.
func (t *frameTable) evict() {
	t.mu.Lock()
	if t.closed { // the timer had fired: close unwinds them all
		t.mu.Unlock()
		return
	}
	var expired []*linearRun
	now := time.Since(t.began)
	for r := t.parked.first; r != nil && r.expires <= now; r = t.parked.first {
		t.revoke(r)
		r.list.remove(r)
		t.running.push(r)
		expired = append(expired, r)
	}
	t.schedule()
	t.mu.Unlock()
	for _, r := range expired {
		t.abandoned(r, "no answer came in time")
		r.release(context.DeadlineExceeded)
	}
}

// close ends every run and waits until all have left.
func (t *frameTable) close(grace time.Duration) error {
	parked, running := t.shut()
	for _, r := range parked {
		t.abandoned(r, "the server is shutting down")
		r.release(&Error{Reason: ShuttingDown})
	}
	for _, r := range running {
		r.stop(&Error{Reason: ShuttingDown})
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-t.empty:
		return nil
	case <-late.C:
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("mrtr: Close: %d handlers still running %v after cancellation", t.count(), grace)
	}
}

// shut closes the table to new runs, and hands out those that are to end.
func (t *frameTable) shut() (parked, running []*linearRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, nil
	}
	t.closed = true
	if t.janitor != nil {
		t.janitor.Stop()
	}
	for r := t.parked.first; r != nil; r = r.next {
		t.revoke(r)
	}
	if t.count() == 0 {
		close(t.empty)
	}
	return t.parked.all(), t.running.all()
}
