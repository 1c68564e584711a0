package mrtr

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

// A frame is a linear handler that is held between two rounds. frameTable holds
// the linear runs of a runtime: the frames by token, oldest first, and the runs
// that are under way. One timer serves them all.
//
// A run that was parked once has a place in the table until it leaves: a call that was let
// in can go on to its end, as long as the bytes that it holds fit. [Limits] say which frames
// make room for others. Whoever is at its own bound gives up its own, and no one else's.
type frameTable struct {
	max, maxPrincipal, maxBytes int
	ttl                         time.Duration
	began                       time.Time // when the table's clock was set to zero

	mu      sync.Mutex
	byToken map[string]*linearRun
	all     *share
	of      map[string]*share // by principal, "" for all that are not known
	parked  runList
	running runList
	janitor *time.Timer
	closed  bool
	draining
}

// place is the place of a linear run in the table.
type place struct {
	token   string // "" while it runs
	placed  bool
	isTask  bool          // its call is a task
	weight  int           // of its call, see linearRun.weigh, when it was last parked
	expires time.Duration // on the table's clock
	links   [3]link       // one for each list that a run can be in at once
}

// holding is how much is held.
type holding struct{ places, bytes int }

func (h holding) plus(other holding) holding {
	return holding{h.places + other.places, h.bytes + other.bytes}
}

func (h holding) minus(other holding) holding {
	return holding{h.places - other.places, h.bytes - other.bytes}
}

// exceeds returns an error if there is no room for more in what may be held at most. Whoever
// needs nothing more has room.
func (h holding) exceeds(most, more holding) error {
	switch {
	case more.places > 0 && h.places+more.places > most.places:
		return busy(most.places, "")
	case more.bytes > 0 && h.bytes+more.bytes > most.bytes:
		return busy(most.bytes, " bytes")
	}
	return nil
}

// share is what all callers hold, or those of one principal.
type share struct {
	holding
	idle runList // the frames that can be dropped, the coldest first
}

func newFrameTable(o *Options) *frameTable {
	return &frameTable{
		max: o.MaxFrames, maxPrincipal: o.MaxFramesPerPrincipal, maxBytes: o.MaxFrameBytes,
		ttl: o.FrameTTL, began: time.Now(),
		byToken: map[string]*linearRun{}, of: map[string]*share{},
		all:      &share{idle: runList{by: byHeatOfAll}},
		draining: draining{ephemeral: o.State.Ephemeral},
	}
}

// enter counts a new run in. One that needs a place to go on after its first
// question is refused here if there is none, before it has done anything.
func (t *frameTable) enter(r *linearRun) error {
	weight := r.weigh()
	t.mu.Lock()
	if t.closed || t.takesNoFrames && r.needsFrame() {
		t.mu.Unlock()
		return &Error{Reason: ShuttingDown}
	}
	var dropped []*linearRun
	var full error
	if r.needsFrame() {
		dropped, full = t.makeRoom(r, weight)
	}
	if full == nil {
		t.running.push(r)
		t.countFirst(r, 1)
	}
	t.mu.Unlock()
	t.unwindAll(dropped, roomNeeded, &Error{Reason: FrameGone})
	return full
}

const roomNeeded = "another call needs its room"

// makeRoom makes room for a run of this weight. It hands out the frames that it drops, which
// the caller unwinds. The caller holds t.mu.
func (t *frameTable) makeRoom(r *linearRun, weight int) (dropped []*linearRun, full error) {
	more := holding{bytes: weight - r.weight} // a run without a place has no weight yet
	if !r.placed {
		more.places = 1
	}
	own := t.shareOf(r.call.principal)
	mostOwn := holding{t.maxPrincipal, t.maxBytes - t.maxBytes/4}
	if r.call.principal == "" {
		mostOwn.places = t.max - t.max/4
	}
	bounds := [...]struct {
		*share
		most holding
	}{{t.all, holding{t.max, t.maxBytes}}, {own, mostOwn}}
	for _, b := range bounds { // before anything is dropped
		kept := b.holding
		if !t.takesNoFrames { // a drain waits for its frames, and not for a call that is dropped
			kept = kept.minus(b.idle.holding)
		}
		if full := kept.exceeds(b.most, more); full != nil {
			return nil, full
		}
	}
	for _, b := range slices.Backward(bounds[:]) {
		for b.exceeds(b.most, more) != nil {
			coldest := b.idle.first
			t.unpark(coldest)
			t.hold(coldest, holding{}.minus(holding{1, coldest.weight}))
			coldest.placed, coldest.weight = false, 0
			dropped = append(dropped, coldest)
		}
	}
	return dropped, nil
}

// shareOf is the share of a principal, which hold notes once it holds something.
func (t *frameTable) shareOf(principal string) *share {
	if s := t.of[principal]; s != nil {
		return s
	}
	return &share{idle: runList{by: byHeatOfOwn}}
}

// hold counts what a run holds more; negative values give it back.
// The caller holds t.mu.
func (t *frameTable) hold(r *linearRun, more holding) {
	t.all.holding = t.all.plus(more)
	own := t.shareOf(r.call.principal)
	own.holding = own.plus(more)
	t.of[r.call.principal] = own
	if own.places == 0 {
		delete(t.of, r.call.principal)
	}
}

func busy(limit int, unit string) error {
	return &Error{Reason: Busy, Detail: strconv.Itoa(limit) + unit}
}

// leave counts an ended run out.
func (t *frameTable) leave(r *linearRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revoke(r)
	r.unlist()
	if r.placed {
		t.hold(r, holding{}.minus(holding{1, r.weight}))
	} else {
		t.countFirst(r, -1)
	}
	t.noFrames.note(t.hasNoFrames())
	t.noRuns.note(t.count() == 0)
}

// park holds a run until its answer comes, under a fresh token.
func (t *frameTable) park(r *linearRun) (token string, _ error) {
	weight := r.weigh()
	t.mu.Lock()
	if t.closed || t.resumableElsewhere(r) {
		t.mu.Unlock()
		return "", &Error{Reason: ShuttingDown}
	}
	dropped, full := t.makeRoom(r, weight)
	if full == nil {
		more := holding{bytes: weight - r.weight}
		if !r.placed {
			more.places = 1
			t.countFirst(r, -1)
		}
		t.hold(r, more)
		r.placed, r.weight = true, weight
		token = t.queue(r)
	}
	t.mu.Unlock()
	t.unwindAll(dropped, roomNeeded, &Error{Reason: FrameGone})
	return token, full
}

// take hands out the run of a token, once, and nil where it is gone.
func (t *frameTable) take(token string) *linearRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byToken[token]
	if r != nil {
		t.unpark(r)
	}
	return r
}

// unpark makes a parked run one that runs. The caller holds t.mu.
func (t *frameTable) unpark(r *linearRun) {
	t.revoke(r)
	r.unlist()
	t.running.push(r)
}

// drop ends a held handler whose call was ended, or went on, at another instance.
func (t *frameTable) drop(token string) {
	if r := t.take(token); r != nil {
		r.unwound("another instance ran its round", r.how.replays)
		r.release(&Error{Reason: FrameGone})
	}
}

// keep gives a frame its full time, for a round that asks again without resuming it: under
// the same token, or under a fresh one. The result is "" where the frame is gone.
func (t *frameTable) keep(token string, same bool) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byToken[token]
	switch {
	case r == nil:
		return ""
	case same:
		t.pushLast(r)
		return token
	}
	t.revoke(r)
	return t.queue(r)
}

// pushLast makes a run the hottest of the parked. The caller holds t.mu.
func (t *frameTable) pushLast(r *linearRun) {
	r.unlist()
	t.parked.push(r)
	if r.canBeDropped() {
		t.all.idle.push(r)
		t.of[r.call.principal].idle.push(r)
	}
	r.expires = time.Since(t.began) + t.ttl
}

// canBeDropped reports whether the call of a parked run loses nothing with it. That of a
// legacy client is bound to a request that is open here, and ends with it.
func (r *linearRun) canBeDropped() bool {
	return r.how.replays && r.call.ex.client.Era == era.Modern
}

// queue parks a run under a fresh token. The caller holds t.mu.
func (t *frameTable) queue(r *linearRun) (token string) {
	t.pushLast(r)
	r.token = newID()
	t.byToken[r.token] = r
	if t.parked.places == 1 {
		t.schedule()
	}
	return r.token
}

// revoke revokes the token of a run. The caller holds t.mu.
func (t *frameTable) revoke(r *linearRun) {
	if r.token != "" {
		delete(t.byToken, r.token)
		r.token = ""
	}
}

// count counts the runs that have not left. The caller holds t.mu.
func (t *frameTable) count() int { return t.running.places + t.parked.places }

// runList is a list through the runs themselves, oldest first.
type runList struct {
	by          int // which of the links of a run
	first, last *linearRun
	holding
}

// The links of a run.
const (
	byAge = iota // of the running, or of the parked
	byHeatOfAll
	byHeatOfOwn
)

type link struct {
	list       *runList
	prev, next *linearRun
}

func (l *runList) push(r *linearRun) {
	r.links[l.by] = link{list: l, prev: l.last}
	if l.last != nil {
		l.last.links[l.by].next = r
	} else {
		l.first = r
	}
	l.last = r
	l.holding = l.plus(holding{1, r.weight})
}

func (l *runList) remove(r *linearRun) {
	at := &r.links[l.by]
	if at.prev != nil {
		at.prev.links[l.by].next = at.next
	} else {
		l.first = at.next
	}
	if at.next != nil {
		at.next.links[l.by].prev = at.prev
	} else {
		l.last = at.prev
	}
	*at = link{}
	l.holding = l.minus(holding{1, r.weight})
}

// unlist takes a run out of all lists.
func (r *linearRun) unlist() {
	for _, at := range r.links {
		if at.list != nil {
			at.list.remove(r)
		}
	}
}

func (l *runList) all() []*linearRun {
	all := make([]*linearRun, 0, l.places)
	for r := l.first; r != nil; r = r.links[l.by].next {
		all = append(all, r)
	}
	return all
}

// startRun counts in a run that is entered for the first time.
func (c *Call) startRun(ctx context.Context, r *linearRun) error {
	if err := c.rt.frames.enter(r); err != nil {
		return c.notEntered(ctx, err)
	}
	c.linear = r
	c.observe(ctx, Event{Kind: HandlerEntered})
	return nil
}

// notEntered is the answer to a request whose handler could not be entered. One that came
// while the server shuts down has done nothing, and can be sent to another instance as it is. A legacy
// client cannot send a later round again.
func (c *Call) notEntered(ctx context.Context, err error) error {
	resent := c.ex.client.Era != era.Legacy || c.st.round == 1
	if !resent || reasonOf(err) != ShuttingDown {
		return err
	}
	return c.turnAway(ctx)
}

// holdFrame parks the run of a call that waits for answers, and puts the frame's
// token into the state.
func (c *Call) holdFrame() error {
	r := c.linear
	if r == nil {
		return c.keepFrame()
	}
	r.releaseRound()
	r.isTask = c.task().IsTask()
	token, err := c.rt.frames.park(r)
	if err != nil && r.how.replays { // the journal will do
		r.release(err)
		err = nil
	}
	c.st.useFrame(token)
	return err
}

// keepFrame keeps the frame of a call that asks again without its handler.
func (c *Call) keepFrame() error {
	if c.st.frame == "" {
		return nil
	}
	token := c.rt.frames.keep(c.st.frame, c.remembered()) // the states of one turn are worth the same
	c.st.useFrame(token)
	if token == "" && !c.target.replays {
		return &Error{Reason: FrameGone}
	}
	return nil
}

// abandonFrame unwinds the linear run of a call that has ended, if one is held, tells it
// why, and hands out the functions that it registered with [Call.OnStop].
func (c *Call) abandonFrame(cause error) (held bool, stops []stop) {
	r := c.rt.frames.take(c.st.frame)
	if r == nil {
		r = c.linear
	}
	if r == nil || r.isReleased() {
		return false, nil
	}
	if r.leavesStops() {
		r.end(cause)
		return true, nil
	}
	stops = r.call.takeStops()
	r.end(cause)
	return true, stops
}

// unwound tells the observer of a frame that was unwound without an answer, and whether its
// call can go on without it.
func (r *linearRun) unwound(reason string, goesOn bool) {
	kind := CallAbandoned
	if goesOn {
		kind = FrameReleased
	}
	r.call.observe(context.Background(), Event{Kind: kind, Reason: reason})
}

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
	if c.st.round > 1 && !how.replays {
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
		t.unpark(r)
		expired = append(expired, r)
	}
	t.schedule()
	t.mu.Unlock()
	t.unwindAll(expired, "no answer came in time", context.DeadlineExceeded)
}

// unwindAll ends runs that are out of the table's parked ones. The calls of those that can
// be replayed go on.
func (t *frameTable) unwindAll(runs []*linearRun, reason string, cause error) {
	for _, r := range runs {
		r.unwound(reason, r.how.replays)
		r.release(cause)
	}
}
