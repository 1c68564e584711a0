package mrtr

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// frameTable holds the strands of a runtime: the parked ones by token, oldest
// first, and those that are running. One timer serves them all.
//
// A strand that was parked once has a place until it has left. Only strands
// without one are refused when the table is full, so that a call which was let
// in can go on to its end.
type frameTable struct {
	max, maxPrincipal, maxBytes int
	ttl                         time.Duration
	began                       time.Time // when the table's clock was set to zero
	abandoned                   func(s *strand, reason string)

	mu       sync.Mutex
	byToken  map[string]*strand
	places   int
	bytes    int            // of the arguments of the calls that have a place
	placesOf map[string]int // by known principal
	parked   strandList
	running  strandList
	janitor  *time.Timer
	closed   bool
	empty    chan struct{} // closed when the last strand has left, after close
}

// frame is a strand's place in the table.
type frame struct {
	token      string // "" while it runs
	placed     bool
	weight     int           // the bytes of its call's arguments
	expires    time.Duration // on the table's clock
	list       *strandList
	prev, next *strand
}

func newFrameTable(o *Options, abandoned func(*strand, string)) *frameTable {
	return &frameTable{
		max: o.MaxFrames, maxPrincipal: o.MaxFramesPerPrincipal, maxBytes: o.MaxFrameBytes,
		ttl: o.FrameTTL, began: time.Now(), abandoned: abandoned,
		byToken: map[string]*strand{}, placesOf: map[string]int{},
		empty: make(chan struct{}),
	}
}

// enter counts a new strand in. One that cannot do without a place is refused
// before it has done anything if there is none.
func (t *frameTable) enter(s *strand) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return &Error{Reason: ShuttingDown}
	}
	if s.how.parks && !s.how.replays {
		if err := t.full(s); err != nil {
			return err
		}
	}
	t.running.push(s)
	return nil
}

// full reports whether there is no place for a strand. The caller holds t.mu.
func (t *frameTable) full(s *strand) error {
	if t.places >= t.max {
		return busy(t.max, "")
	}
	if s.call.principal != "" && t.placesOf[s.call.principal] >= t.maxPrincipal {
		return busy(t.maxPrincipal, "")
	}
	if t.bytes+s.weight > t.maxBytes {
		return busy(t.maxBytes, " bytes")
	}
	return nil
}

// leave counts an ended strand out.
func (t *frameTable) leave(s *strand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unname(s)
	s.list.remove(s)
	if s.placed {
		t.places--
		t.bytes -= s.weight
		if t.placesOf[s.call.principal]--; t.placesOf[s.call.principal] <= 0 {
			delete(t.placesOf, s.call.principal)
		}
	}
	if t.closed && t.count() == 0 {
		close(t.empty)
	}
}

// park holds a strand until its answer comes, and names it with a token that
// nobody has seen before.
func (t *frameTable) park(s *strand) (token string, _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", &Error{Reason: ShuttingDown}
	}
	if !s.placed {
		if err := t.full(s); err != nil {
			return "", err
		}
		s.placed = true
		t.places++
		t.bytes += s.weight
		if s.call.principal != "" {
			t.placesOf[s.call.principal]++
		}
	}
	return t.wait(s), nil
}

// take hands out the strand of a token, once.
func (t *frameTable) take(token string) *strand {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byToken[token]
	if s != nil {
		t.unname(s)
		s.list.remove(s)
		t.running.push(s)
	}
	return s
}

// rename gives a parked strand a fresh token, and its time from the start, for
// a round that asks again without running it. It is "" where the strand is
// gone.
func (t *frameTable) rename(token string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byToken[token]
	if s == nil {
		return ""
	}
	t.unname(s)
	return t.wait(s)
}

// wait puts a strand last among the parked. The caller holds t.mu.
func (t *frameTable) wait(s *strand) (token string) {
	s.list.remove(s)
	t.parked.push(s)
	s.expires = time.Since(t.began) + t.ttl
	s.token = newID()
	t.byToken[s.token] = s
	if t.parked.len == 1 {
		t.schedule()
	}
	return s.token
}

// unname makes a strand one that nobody can take. The caller holds t.mu.
func (t *frameTable) unname(s *strand) {
	if s.token != "" {
		delete(t.byToken, s.token)
		s.token = ""
	}
}

// count is how many strands have not left. The caller holds t.mu.
func (t *frameTable) count() int { return t.running.len + t.parked.len }

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
	var expired []*strand
	now := time.Since(t.began)
	for s := t.parked.first; s != nil && s.expires <= now; s = t.parked.first {
		t.unname(s)
		s.list.remove(s)
		t.running.push(s)
		expired = append(expired, s)
	}
	t.schedule()
	t.mu.Unlock()
	for _, s := range expired {
		t.abandoned(s, "no answer came in time")
		s.end(context.DeadlineExceeded)
	}
}

// close ends every strand and waits for all to have left.
func (t *frameTable) close(grace time.Duration) error {
	parked, running := t.shut()
	for _, s := range parked {
		t.abandoned(s, "the server is shutting down")
		s.end(&Error{Reason: ShuttingDown})
	}
	for _, s := range running {
		s.stop(&Error{Reason: ShuttingDown})
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-t.empty:
		return nil
	case <-late.C:
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("mrtr: %d handlers do not heed their context", t.count())
	}
}

// shut lets no strand in any more, and hands out those that are to end.
func (t *frameTable) shut() (parked, running []*strand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, nil
	}
	t.closed = true
	if t.janitor != nil {
		t.janitor.Stop()
	}
	for s := t.parked.first; s != nil; s = s.next {
		t.unname(s)
	}
	if t.count() == 0 {
		close(t.empty)
	}
	return t.parked.all(), t.running.all()
}

func busy(limit int, unit string) error {
	return &Error{Reason: Busy, Detail: strconv.Itoa(limit) + unit}
}
