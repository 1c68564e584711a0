package mrtr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/sse/era"
)

// Drain ends the runtime without ending the calls that wait in it, as far as ctx
// allows. From now on:
//
//   - A [Coroutine] call that begins is refused with -31001, before its handler is
//     entered: its client may send the same request again, to another instance.
//   - A held Coroutine gets the rest of its time: its answers are taken, it may ask
//     again, and [Limits.FrameTTL] ends it as ever.
//   - A [Resumable] handler is no longer held. Its next round replays the journal, here
//     or at another instance with the same keys. Where the keys are those of this
//     process, one that is held gets its time too.
//   - Calls of the other styles are served as before.
//
// When no handler is held any more, all requests are refused like that. Those that run come
// to the end of their round, and a legacy client's call to its own, also if its user has yet
// to answer. Then Drain calls [Runtime.Close].
// Where ctx ends first, Close unwinds the rest, and the error wraps that of ctx and
// tells how many there were.
//
// Drain before the transport shuts down, which has to bring the answers:
// docs/operating.md gives the order.
func (rt *Runtime) Drain(ctx context.Context) error {
	t := rt.frames
	for _, phase := range []func() <-chan struct{}{t.takeNoFrames, rt.door.close, t.whenEmpty, rt.works.whenEmpty} {
		select {
		case <-phase():
			continue
		case <-ctx.Done():
		}
		cut := fmt.Errorf("mrtr: Drain: %d handlers held and %d requests under way: %w", rt.Stats().Held, rt.door.count(), context.Cause(ctx))
		return errors.Join(cut, rt.Close())
	}
	return rt.Close()
}

// door lets requests in until the runtime drains, and knows when the last of them has left.
// A legacy client's call is one request, which lasts while its user is asked.
type door struct {
	mu     sync.Mutex
	inside int // guarded by mu, as are the others
	closed bool
	empty  emptiness
}

// enter lets a request in, or returns a retryable error so that another instance can take it.
// A legacy client can't send a later round again, so that one enters a closed door too.
func (rt *Runtime) enter(ctx context.Context, ex *exchange, t *target) error {
	later := ex.client.Era == era.Legacy && ex.token != ""
	if rt.door.enter(later) {
		return nil
	}
	l := &ledger{rt: rt, target: t, ex: *ex}
	return l.turnAway(ctx)
}

// turnAway refuses a request that has done nothing, and can be sent to another instance as
// it is.
func (l *ledger) turnAway(ctx context.Context) error {
	l.phase = elsewhere
	l.observe(ctx, Event{Kind: RoundRefused, Reason: string(ShuttingDown)})
	return callerror.NotBegun(sendElsewhere, string(ShuttingDown))
}

// enter reports whether the request is inside: always if evenSo, else while the door is open.
func (d *door) enter(evenSo bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed && !evenSo {
		return false
	}
	d.inside++
	return true
}

func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside
}

func (d *door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	d.empty.note(d.inside == 0)
}

// close shuts the door. The channel it returns is closed once everybody has left.
func (d *door) close() (empty <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return d.empty.wait(d.inside == 0)
}

// draining is the part of a table that ends it: it takes no new frames, and is empty when
// the runs have left.
type draining struct {
	ephemeral        bool // no other instance can go on with its calls
	first            int  // runs that will need a frame and have none yet
	takesNoFrames    bool
	noFrames, noRuns emptiness
}

// needsFrame reports whether the call can go on in a held handler alone.
func (r *linearRun) needsFrame() bool { return r.how.parks && !r.how.replays }

// countFirst counts a run without a place that will need one. The caller holds t.mu.
func (t *frameTable) countFirst(r *linearRun, n int) {
	if r.needsFrame() {
		t.first += n
	}
}

// resumableElsewhere reports whether a run is not held because the table drains. The
// caller holds t.mu.
func (t *frameTable) resumableElsewhere(r *linearRun) bool {
	return t.takesNoFrames && r.how.replays && (!r.placed || !t.ephemeral)
}

// takeNoFrames begins the first phase. The channel is closed when no frame is left.
func (t *frameTable) takeNoFrames() <-chan struct{} {
	t.mu.Lock()
	t.takesNoFrames = true
	var moved []*linearRun
	for _, r := range t.parked.all() {
		if t.resumableElsewhere(r) {
			t.unpark(r)
			moved = append(moved, r)
		}
	}
	done := t.noFrames.wait(t.hasNoFrames())
	t.mu.Unlock()
	t.unwindAll(moved, "the server drains", &Error{Reason: ShuttingDown})
	return done
}

// whenEmpty is closed when no run is left.
func (t *frameTable) whenEmpty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.noRuns.wait(t.count() == 0)
}

// hasNoFrames reports whether no run is held, or will have to be. The caller holds t.mu.
func (t *frameTable) hasNoFrames() bool { return t.all.places == 0 && t.first == 0 }

// closing is how long Close waits.
const closing = 10 * time.Second

// Close unwinds every held handler, cancels the linear handlers that run, and waits
// until all have ended. From then on calls of linear handlers end with
// [ShuttingDown]. Effects that run are cancelled five seconds after their handlers. A
// handler that still runs ten seconds after its cancellation is left behind, and counted
// in the error.
//
// Rounds that a store remembers are cancelled and waited for in all styles. It does not
// close the store, and waits for no other call of another style. A second Close waits
// for what is left of the ten seconds.
func (rt *Runtime) Close() error {
	rt.closing.Do(func() { rt.closeBy = time.Now().Add(closing) })
	effects := time.AfterFunc(closing/2, rt.stopEffects)
	rt.works.stop()
	err := errors.Join(rt.frames.close(rt.closeBy), rt.works.wait(rt.closeBy))
	effects.Stop()
	if rt.memory != nil {
		rt.memory.turns.Close()
	}
	return err
}

// close ends every run and waits until all have left.
func (t *frameTable) close(until time.Time) error {
	parked, running := t.shut()
	for _, r := range parked {
		r.unwound("the server is shutting down", r.how.replays && !t.ephemeral)
		r.release(&Error{Reason: ShuttingDown})
	}
	for _, r := range running {
		r.stop(&Error{Reason: ShuttingDown})
	}
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case <-t.whenEmpty():
		return nil
	case <-late.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count() == 0 {
		return nil
	}
	return fmt.Errorf("mrtr: Close: %d handlers still running %v after cancellation", t.count(), closing)
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
	parked, running = t.parked.all(), t.running.all()
	for _, r := range parked {
		t.revoke(r)
	}
	return parked, running
}

// emptiness tells those who wait that nothing is left. Its owner's lock guards it.
type emptiness struct{ reached chan struct{} } // nil where nobody waits

// wait returns a channel that is closed when nothing is left.
func (e *emptiness) wait(empty bool) <-chan struct{} {
	if e.reached == nil {
		e.reached = make(chan struct{})
	}
	reached := e.reached
	e.note(empty)
	return reached
}

func (e *emptiness) note(empty bool) {
	if empty && e.reached != nil {
		close(e.reached)
		e.reached = nil
	}
}
