package mrtr

import (
	"context"
	"errors"
	"fmt"
)

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
