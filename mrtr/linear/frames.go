package linear

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
)

// A frame is a handler that is held between two rounds. frames has the runs of a runtime: those
// that are parked by token, oldest first, and those that are under way. One timer serves them
// all.
//
// A run that was parked once has a place until it leaves: a call that was let in can go on to
// its end, as long as the bytes that it holds fit. A frame whose call can go on from its history
// makes room for others, the coldest first.
type frames struct {
	limits    mrtr.Limits
	ephemeral bool      // no other instance can go on with its calls
	began     time.Time // when the table's clock was set to zero

	mu      sync.Mutex
	byToken map[string]*run
	all     *share
	of      map[string]*share // by principal
	parked  runList
	running runList
	janitor *time.Timer
	closed  bool

	drains           bool                // nothing new is held
	first            int                 // runs that will need a frame and have none yet
	undoing          int                 // calls that ended with their runs, whose effects are being undone
	ends             map[string]*callEnd // of those calls, and of the last of them that were undone
	oldestEnds       []string            // their tokens
	noFrames, noRuns keep.Emptiness
}

// place is the place of a run in the table.
type place struct {
	token    string // "" while it runs
	placed   bool
	isTask   bool // its call is a task
	endsCall bool // its call ends with it
	hasLeft  bool
	callEnd  *callEnd
	weight   int           // when it was last parked
	expires  time.Duration // on the table's clock
	links    [3]link       // one for each list that a run can be in at once
}

// A callEnd is left of a call that ended with its held handler, or went on with it. A request may still
// bring its state.
type callEnd struct {
	resumed bool          // the effects are another request's
	undone  chan struct{} // closed when its effects are undone
	tells   func(later *mrtr.Pass)
}

// maxEnds bounds the calls of which that is remembered.
const maxEnds = 10_000

type framesKey struct{}

func framesOf(p *mrtr.Pass) *frames {
	return p.Service(framesKey{}, func(rt *mrtr.Runtime) keep.Service {
		return &frames{
			limits: rt.Limits(), ephemeral: rt.IsEphemeral(), began: time.Now(), byToken: map[string]*run{},
			all: &share{idle: runList{by: byHeatOfAll}}, of: map[string]*share{}, ends: map[string]*callEnd{},
		}
	}).(*frames)
}

// leave counts an ended run out.
func (t *frames) leave(r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revoke(r)
	r.unlist()
	if r.placed {
		t.count(r, holding{}.minus(holding{1, r.weight}))
	} else {
		t.countFirst(r, -1)
	}
	if r.hasLeft = true; r.endsCall {
		t.undoing++
	}
	t.note()
}

// note tells those who wait what is left. The caller holds t.mu.
func (t *frames) note() {
	t.noFrames.Note(t.hasNoFrames())
	t.noRuns.Note(t.runs() == 0)
}

// hold parks the run of a call that waits for answers. A run that can go on from its history is
// let go where there is no room.
func (t *frames) hold(r *run) (token string, err error) {
	r.ctx.round.Store(nil)
	r.isTask = r.own.Round().Task
	token, err = t.park(r)
	if err != nil && r.how.replays {
		r.end(err)
		err = nil
	}
	return token, err
}

// park holds a run until its answer comes, under a fresh token.
func (t *frames) park(r *run) (token string, _ error) {
	weight := r.weigh()
	t.mu.Lock()
	if t.closed || t.goesOnElsewhere(r) {
		t.mu.Unlock()
		return "", &mrtr.Error{Reason: mrtr.ShuttingDown}
	}
	dropped, full := t.makeRoom(r, weight)
	if full == nil {
		more := holding{bytes: weight - r.weight}
		if !r.placed {
			more.places = 1
			t.countFirst(r, -1)
		}
		t.count(r, more)
		r.placed, r.weight = true, weight
		token = t.queue(r)
	}
	t.mu.Unlock()
	letGo(dropped, "another call needs its room", &mrtr.Error{Reason: mrtr.FrameGone})
	return token, full
}

// goesOnElsewhere reports whether a run is not held because the table drains. The caller holds
// t.mu.
func (t *frames) goesOnElsewhere(r *run) bool {
	return t.drains && r.how.replays && (!r.placed || !t.ephemeral)
}

// take hands out the run that a pass goes on with, once, and nil where it is gone.
func (t *frames) take(p *mrtr.Pass) *run {
	token := p.Frame()
	if token == "" {
		return nil
	}
	kept := p.Round().Kept
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byToken[token]
	if r != nil {
		if !kept && !r.how.replays {
			t.remember(r, &callEnd{resumed: true})
		}
		t.unpark(r)
	}
	return r
}

// unpark makes a parked run one that runs. The caller holds t.mu.
func (t *frames) unpark(r *run) {
	t.revoke(r)
	r.unlist()
	t.running.push(r)
}

// queue parks a run under a fresh token. The caller holds t.mu.
func (t *frames) queue(r *run) (token string) {
	r.token = rand.Text()
	t.byToken[r.token] = r
	t.warm(r)
	return r.token
}

// touch makes the run of a token the hottest, and reports whether it is there.
func (t *frames) touch(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byToken[token]
	if r != nil {
		t.warm(r)
	}
	return r != nil
}

// warm parks a run as the hottest. The caller holds t.mu.
func (t *frames) warm(r *run) {
	r.unlist()
	t.parked.push(r)
	if r.canBeDropped() {
		t.all.idle.push(r)
		t.of[r.principal].idle.push(r)
	}
	r.expires = time.Since(t.began) + t.limits.FrameTTL
	if t.parked.places == 1 {
		t.schedule()
	}
}

// revoke revokes the token of a run. The caller holds t.mu.
func (t *frames) revoke(r *run) {
	if r.token != "" {
		delete(t.byToken, r.token)
		r.token = ""
	}
}

// runs counts the runs that have not left, or whose effects are being undone. The caller holds t.mu.
func (t *frames) runs() int { return t.running.places + t.parked.places + t.undoing }

// endCallWith counts the undoing of a call's effects from when its run has left.
func (t *frames) endCallWith(r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.endsCall = true; r.hasLeft {
		t.undoing++
	}
}

// undone counts out a call whose effects are undone.
func (t *frames) undone(r *run, tells func(later *mrtr.Pass)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.undoing--
	t.note()
	if r.callEnd != nil {
		r.callEnd.tells = tells
		close(r.callEnd.undone)
	}
}

// noteEnd notes that the call of a parked run ends with it. The caller holds t.mu.
func (t *frames) noteEnd(r *run) {
	if r.how.replays {
		return
	}
	r.callEnd = &callEnd{undone: make(chan struct{})}
	t.remember(r, r.callEnd)
}

// remember remembers what became of a parked run. The caller holds t.mu.
func (t *frames) remember(r *run, end *callEnd) {
	t.ends[r.token] = end
	t.oldestEnds = append(t.oldestEnds, r.token)
	for len(t.oldestEnds) > maxEnds {
		delete(t.ends, t.oldestEnds[0])
		t.oldestEnds = t.oldestEnds[1:]
	}
}

// patience bounds how long a request waits for the undoing of its call.
const patience = 10 * time.Second

// tellOfEnd tells a request whose call has ended with its held handler, once its effects are undone.
func (t *frames) tellOfEnd(p *mrtr.Pass) {
	t.mu.Lock()
	end := t.ends[p.Frame()]
	t.mu.Unlock()
	switch {
	case end == nil:
		return
	case end.resumed:
		p.LeaveEffects("another request went on with the call")
		return
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-end.undone:
		if end.tells != nil {
			end.tells(p)
		}
	case <-late.C:
		p.LeaveEffects("it is still being undone")
	}
}

// hasNoFrames reports whether no run is held, or will have to be. The caller holds t.mu.
func (t *frames) hasNoFrames() bool { return t.all.places == 0 && t.first == 0 }

// schedule sets the timer for the oldest frame. The caller holds t.mu.
func (t *frames) schedule() {
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

// evict lets go of the frames whose time is up.
func (t *frames) evict() {
	t.mu.Lock()
	if t.closed { // the timer had fired: Close ends them all
		t.mu.Unlock()
		return
	}
	var expired []*run
	now := time.Since(t.began)
	for r := t.parked.first; r != nil && r.expires <= now; r = t.parked.first {
		t.noteEnd(r)
		t.unpark(r)
		expired = append(expired, r)
	}
	t.schedule()
	t.mu.Unlock()
	letGo(expired, "no answer came in time", context.DeadlineExceeded)
}

func letGo(runs []*run, reason string, cause error) {
	for _, r := range runs {
		r.letGo(reason, cause, r.how.replays)
	}
}

// Drain implements [keep.Service]: nothing new is held, and what can go on elsewhere is let go.
func (t *frames) Drain() (empty <-chan struct{}) {
	t.mu.Lock()
	t.drains = true
	var moved []*run
	for _, r := range t.parked.all() {
		if t.goesOnElsewhere(r) {
			t.unpark(r)
			moved = append(moved, r)
		}
	}
	empty = t.noFrames.Wait(t.hasNoFrames())
	t.mu.Unlock()
	letGo(moved, "the server drains", &mrtr.Error{Reason: mrtr.ShuttingDown})
	return empty
}

// Close implements [keep.Service]: it ends every run and waits until all have left.
func (t *frames) Close(until time.Time) error {
	parked, running := t.shut()
	for _, r := range parked {
		r.letGo("the server is shutting down", &mrtr.Error{Reason: mrtr.ShuttingDown}, r.how.replays && !t.ephemeral)
	}
	for _, r := range running {
		r.end(&mrtr.Error{Reason: mrtr.ShuttingDown})
	}
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	t.mu.Lock()
	empty := t.noRuns.Wait(t.runs() == 0)
	t.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-late.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs() == 0 {
		return nil
	}
	return fmt.Errorf("mrtr: Close: %d handlers still running 10s after cancellation", t.runs())
}

// shut closes the table to new runs, and hands out those that are to end.
func (t *frames) shut() (parked, running []*run) {
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
		t.noteEnd(r)
		t.revoke(r)
	}
	return parked, running
}

// Count implements [keep.Service].
func (t *frames) Count(s *listen.Stats, waiting func(w listen.Waiting, since time.Time)) {
	t.mu.Lock()
	parked := t.parked.all()
	s.Held, s.HeldBytes, s.Running = t.parked.places, t.all.bytes, t.running.places
	t.mu.Unlock()
	for _, r := range parked {
		if !r.modern || r.isTask {
			continue
		}
		at := r.own.Round()
		waiting(listen.Waiting{Method: at.Method, Name: at.NameInLog(), Era: era.Modern, Way: listen.WayHeld},
			t.began.Add(r.expires-t.limits.FrameTTL))
	}
}
