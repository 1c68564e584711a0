package mrtr

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// A frame is a linear handler that is held between two rounds. frameTable holds
// the linear runs of a runtime: the frames by token, oldest first, and the runs
// that are under way. One timer serves them all.
//
// A run that was parked once has a place in the table until it leaves. Only runs
// without one are refused when the table is full, so that a call which was let in
// can go on to its end, as long as the bytes that it holds fit.
//
// The callers that nobody knows are a crowd of any size. A quarter of the places is
// not for them, and a quarter of the bytes neither for them nor for any one
// principal, so that the others always find room.
type frameTable struct {
	max, maxPrincipal, maxBytes int
	ttl                         time.Duration
	began                       time.Time // when the table's clock was set to zero
	abandoned                   func(r *linearRun, reason string)

	// owner begins each token: the name of this instance, where others may ask for it.
	owner string

	mu      sync.Mutex
	byToken map[string]*linearRun
	all     holding
	of      map[string]holding // by principal, "" for all that are not known
	parked  runList
	running runList
	janitor *time.Timer
	closed  bool
	empty   chan struct{} // closed when the last run has left, after close
	draining
}

// place is the place of a linear run in the table.
type place struct {
	token      string // "" while it runs
	placed     bool
	weight     int           // of its call, see linearRun.weigh, when it was last parked
	expires    time.Duration // on the table's clock
	list       *runList
	prev, next *linearRun
}

// holding is how much is held.
type holding struct{ places, bytes int }

func (h holding) plus(places, bytes int) holding {
	return holding{h.places + places, h.bytes + bytes}
}

func newFrameTable(o *Options, abandoned func(*linearRun, string)) *frameTable {
	return &frameTable{
		max: o.MaxFrames, maxPrincipal: o.MaxFramesPerPrincipal, maxBytes: o.MaxFrameBytes,
		ttl: o.FrameTTL, began: time.Now(), abandoned: abandoned,
		byToken: map[string]*linearRun{}, of: map[string]holding{},
		empty:    make(chan struct{}),
		draining: draining{ephemeral: o.State.Ephemeral},
	}
}

// enter counts a new run in. One that needs a place to go on after its first
// question is refused here if there is none, before it has done anything.
func (t *frameTable) enter(r *linearRun) error {
	weight := r.weigh()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.takesNone || t.takesNoFrames && r.needsFrame() {
		return &Error{Reason: ShuttingDown}
	}
	if r.needsFrame() {
		if err := t.full(r, weight); err != nil {
			return err
		}
	}
	t.running.push(r)
	t.countFirst(r, 1)
	return nil
}

// full reports whether there is no room for a run of this weight. The caller holds
// t.mu.
func (t *frameTable) full(r *linearRun, weight int) error {
	grows := weight - r.weight // a run without a place has no weight yet
	all, own := t.all.plus(0, grows), t.of[r.call.principal].plus(0, grows)
	if !r.placed {
		all, own = all.plus(1, 0), own.plus(1, 0)
	}
	mostOwn := t.maxPrincipal
	if r.call.principal == "" {
		mostOwn = t.max - t.max/4
	}
	mostBytes := t.maxBytes - t.maxBytes/4
	switch {
	case !r.placed && all.places > t.max:
		return busy(t.max, "")
	case !r.placed && own.places > mostOwn:
		return busy(mostOwn, "")
	case grows > 0 && all.bytes > t.maxBytes:
		return busy(t.maxBytes, " bytes")
	case grows > 0 && own.bytes > mostBytes:
		return busy(mostBytes, " bytes")
	}
	return nil
}

// hold counts a run's place and bytes, or, with less than nothing, counts them out.
// The caller holds t.mu.
func (t *frameTable) hold(r *linearRun, places, bytes int) {
	t.all = t.all.plus(places, bytes)
	own := t.of[r.call.principal].plus(places, bytes)
	if own.places == 0 {
		delete(t.of, r.call.principal)
		return
	}
	t.of[r.call.principal] = own
}

func busy(limit int, unit string) error {
	return &Error{Reason: Busy, Detail: strconv.Itoa(limit) + unit}
}

// leave counts an ended run out.
func (t *frameTable) leave(r *linearRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revoke(r)
	r.list.remove(r)
	if r.placed {
		t.hold(r, -1, -r.weight)
	} else {
		t.countFirst(r, -1)
	}
	if t.closed && t.count() == 0 {
		close(t.empty)
	}
	t.drained()
}

// park holds a run until its answer comes, under a fresh token.
func (t *frameTable) park(r *linearRun) (token string, _ error) {
	weight := r.weigh()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.goesOnElsewhere(r) {
		return "", &Error{Reason: ShuttingDown}
	}
	if err := t.full(r, weight); err != nil {
		return "", err
	}
	places := 1
	if r.placed {
		places = 0
	} else {
		t.countFirst(r, -1)
	}
	t.hold(r, places, weight-r.weight)
	r.placed, r.weight = true, weight
	return t.queue(r), nil
}

// take hands out the run of a token, once, and nil where it is gone.
func (t *frameTable) take(token string) *linearRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byToken[token]
	if r != nil {
		t.revoke(r)
		r.list.remove(r)
		t.running.push(r)
	}
	return r
}

// holds reports whether the run that a token names is here.
func (t *frameTable) holds(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byToken[token] != nil
}

// targetOf is the target of the run that a token names, nil where it is gone.
func (t *frameTable) targetOf(token string) *target {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.byToken[token]; r != nil {
		return r.call.target
	}
	return nil
}

// rename gives a frame a fresh token and its full time, for a round that asks
// again without resuming it. The token is "" where the frame is gone.
func (t *frameTable) rename(token string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byToken[token]
	if r == nil {
		return ""
	}
	t.revoke(r)
	return t.queue(r)
}

// extend gives a frame its full time under the token that it has. The result is "" where
// the frame is gone.
func (t *frameTable) extend(token string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byToken[token]
	if r == nil {
		return ""
	}
	r.list.remove(r)
	t.parked.push(r)
	r.expires = time.Since(t.began) + t.ttl
	return token
}

// queue puts a run last among the parked. The caller holds t.mu.
func (t *frameTable) queue(r *linearRun) (token string) {
	r.list.remove(r)
	t.parked.push(r)
	r.expires = time.Since(t.began) + t.ttl
	r.token = t.owner + newID()
	t.byToken[r.token] = r
	if t.parked.len == 1 {
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
func (t *frameTable) count() int { return t.running.len + t.parked.len }

// runList is a list through the runs themselves, oldest first.
type runList struct {
	first, last *linearRun
	len         int
}

func (l *runList) push(r *linearRun) {
	r.list, r.prev, r.next = l, l.last, nil
	if l.last != nil {
		l.last.next = r
	} else {
		l.first = r
	}
	l.last = r
	l.len++
}

func (l *runList) remove(r *linearRun) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		l.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		l.last = r.prev
	}
	r.list, r.prev, r.next = nil, nil, nil
	l.len--
}

func (l *runList) all() []*linearRun {
	all := make([]*linearRun, 0, l.len)
	for r := l.first; r != nil; r = r.next {
		all = append(all, r)
	}
	return all
}

// startRun counts in a run that is entered for the first time.
func (c *Call) startRun(ctx context.Context, r *linearRun) error {
	if err := c.rt.frames.enter(r); err != nil {
		return err
	}
	c.linear = r
	c.observe(ctx, Event{Kind: HandlerEntered})
	return nil
}

// holdFrame parks the run of a call that waits for answers, and puts the frame's
// token into the state.
func (c *Call) holdFrame() error {
	r := c.linear
	if r == nil {
		return c.keepFrame()
	}
	r.releaseRound()
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
	if c.st.frame == "" || c.holder() != "" { // nothing is held, or not here
		return nil
	}
	token := ""
	if c.remembered() { // the states of one turn are worth the same
		token = c.rt.frames.extend(c.st.frame)
	} else {
		token = c.rt.frames.rename(c.st.frame)
	}
	c.st.useFrame(token)
	if token == "" && !c.target.replays {
		return &Error{Reason: FrameGone}
	}
	return nil
}

// abandonFrame unwinds the linear run of a call that has ended, if one is held, tells it
// why, and hands out the functions that it registered with [Call.OnStop].
func (c *Call) abandonFrame(cause error) (held bool, stops []func(context.Context, error)) {
	r := c.rt.frames.take(c.st.frame)
	if r == nil {
		r = c.linear
	}
	if r == nil {
		return false, nil
	}
	stops = r.call.takeStops()
	r.end(cause)
	return true, stops
}

// abandoned tells the observer of a frame that was unwound without an answer.
func (rt *Runtime) abandoned(r *linearRun, reason string) {
	r.call.observe(context.Background(), Event{Kind: CallAbandoned, Reason: reason})
}
