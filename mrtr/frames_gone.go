package mrtr

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// takeFrame finds the linear run of this call, nil where one has to be started. A
// frame that is gone ends the call, unless its style can replay the journal.
func (c *Call) takeFrame(how linearStyle) (*linearRun, error) {
	if c.linear != nil { // entered again in the same round
		return c.linear, nil
	}
	if r := c.rt.frames.take(c.st.frame); r != nil {
		c.linear = r
		return r, nil
	}
	// A forwarded round goes on where its frame is, or nowhere.
	if c.st.round > 1 && (!how.replays || c.ex.forwarded != nil) {
		return nil, &Error{Reason: FrameGone}
	}
	return nil, nil
}

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

// Drain ends the runtime without ending the calls that wait in it, as far as ctx
// allows. From now on:
//
//   - A [Coroutine] call that begins ends with [ShuttingDown], before its handler is
//     entered.
//   - A held Coroutine gets the rest of its time: its answers are taken, it may ask
//     again, and [Options.FrameTTL] ends it as ever.
//   - A [Resumable] handler is no longer held. Its next round replays the journal, here
//     or at another instance with the same keys. Where the keys are those of this
//     process, one that is held gets its time too.
//   - Calls of the other styles are served as before.
//
// When no handler is held any more, calls of linear handlers end with ShuttingDown,
// and those that run come to the end of their round. Then Drain calls [Runtime.Close].
// Where ctx ends first, Close unwinds the rest, and the error wraps that of ctx and
// tells how many there were.
//
// Drain before the transport shuts down, which has to bring the answers:
// docs/operating.md gives the order.
func (rt *Runtime) Drain(ctx context.Context) error {
	t := rt.frames
	for _, phase := range []func() <-chan struct{}{t.takeNoFrames, t.takeNone} {
		select {
		case <-phase():
			continue
		case <-ctx.Done():
		}
		stats := rt.Stats()
		cut := fmt.Errorf("mrtr: Drain: %d handlers held and %d running: %w", stats.Held, stats.Running, context.Cause(ctx))
		return errors.Join(cut, rt.Close())
	}
	return rt.Close()
}

// draining is the part of a table that ends it: first it takes no new frames, and
// when the frames are gone no runs at all.
type draining struct {
	ephemeral                bool // no other instance can go on with its calls
	first                    int  // runs that will need a frame and have none yet
	takesNoFrames, takesNone bool
	noFrames, none           chan struct{} // made by the phase, closed and nil when it is over
}

// needsFrame reports whether the call can go on in a held handler alone.
func (r *linearRun) needsFrame() bool { return r.how.parks && !r.how.replays }

// countFirst counts a run without a place that will need one. The caller holds t.mu.
func (t *frameTable) countFirst(r *linearRun, n int) {
	if r.needsFrame() {
		t.first += n
	}
}

// goesOnElsewhere reports whether a run is not held because the table drains. The
// caller holds t.mu.
func (t *frameTable) goesOnElsewhere(r *linearRun) bool {
	return t.takesNoFrames && r.how.replays && (!r.placed || !t.ephemeral)
}

// takeNoFrames begins the first phase. The channel is closed when no frame is left.
func (t *frameTable) takeNoFrames() <-chan struct{} {
	t.mu.Lock()
	t.takesNoFrames = true
	if t.noFrames == nil {
		t.noFrames = make(chan struct{})
	}
	done := t.noFrames
	var moved []*linearRun
	for _, r := range t.parked.all() {
		if t.goesOnElsewhere(r) {
			t.revoke(r)
			r.list.remove(r)
			t.running.push(r)
			moved = append(moved, r)
		}
	}
	t.drained()
	t.mu.Unlock()
	for _, r := range moved {
		t.abandoned(r, "the server drains: its call goes on from its journal")
		r.release(&Error{Reason: ShuttingDown})
	}
	return done
}

// takeNone begins the second phase. The channel is closed when no run is left.
func (t *frameTable) takeNone() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takesNone = true
	if t.none == nil {
		t.none = make(chan struct{})
	}
	done := t.none
	t.drained()
	return done
}

// drained ends the phases that are over. The caller holds t.mu.
func (t *frameTable) drained() {
	if t.noFrames != nil && t.all.places == 0 && t.first == 0 {
		close(t.noFrames)
		t.noFrames = nil
	}
	if t.none != nil && t.count() == 0 {
		close(t.none)
		t.none = nil
	}
}
