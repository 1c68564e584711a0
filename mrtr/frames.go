package mrtr

import (
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
// can go on to its end.
type frameTable struct {
	max, maxPrincipal, maxBytes int
	ttl                         time.Duration
	began                       time.Time // when the table's clock was set to zero
	abandoned                   func(r *linearRun, reason string)

	mu       sync.Mutex
	byToken  map[string]*linearRun
	places   int
	bytes    int            // of the arguments of the calls that have a place
	placesOf map[string]int // by known principal
	parked   runList
	running  runList
	janitor  *time.Timer
	closed   bool
	empty    chan struct{} // closed when the last run has left, after close
}

// place is the place of a linear run in the table.
type place struct {
	token      string // "" while it runs
	placed     bool
	weight     int           // the bytes of its call's arguments
	expires    time.Duration // on the table's clock
	list       *runList
	prev, next *linearRun
}

func newFrameTable(o *Options, abandoned func(*linearRun, string)) *frameTable {
	return &frameTable{
		max: o.MaxFrames, maxPrincipal: o.MaxFramesPerPrincipal, maxBytes: o.MaxFrameBytes,
		ttl: o.FrameTTL, began: time.Now(), abandoned: abandoned,
		byToken: map[string]*linearRun{}, placesOf: map[string]int{},
		empty: make(chan struct{}),
	}
}

// enter counts a new run in. One that needs a place to go on after its first
// question is refused here if there is none, before it has done anything.
func (t *frameTable) enter(r *linearRun) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return &Error{Reason: ShuttingDown}
	}
	if r.how.parks && !r.how.replays {
		if err := t.full(r); err != nil {
			return err
		}
	}
	t.running.push(r)
	return nil
}

// full reports whether there is no place for a run. The caller holds t.mu.
func (t *frameTable) full(r *linearRun) error {
	if t.places >= t.max {
		return busy(t.max, "")
	}
	if r.call.principal != "" && t.placesOf[r.call.principal] >= t.maxPrincipal {
		return busy(t.maxPrincipal, "")
	}
	if t.bytes+r.weight > t.maxBytes {
		return busy(t.maxBytes, " bytes")
	}
	return nil
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
		t.places--
		t.bytes -= r.weight
		if t.placesOf[r.call.principal]--; t.placesOf[r.call.principal] <= 0 {
			delete(t.placesOf, r.call.principal)
		}
	}
	if t.closed && t.count() == 0 {
		close(t.empty)
	}
}

// park holds a run until its answer comes, under a fresh token.
func (t *frameTable) park(r *linearRun) (token string, _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", &Error{Reason: ShuttingDown}
	}
	if !r.placed {
		if err := t.full(r); err != nil {
			return "", err
		}
		r.placed = true
		t.places++
		t.bytes += r.weight
		if r.call.principal != "" {
			t.placesOf[r.call.principal]++
		}
	}
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

// queue puts a run last among the parked. The caller holds t.mu.
func (t *frameTable) queue(r *linearRun) (token string) {
	r.list.remove(r)
	t.parked.push(r)
	r.expires = time.Since(t.began) + t.ttl
	r.token = newID()
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
