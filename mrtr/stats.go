package mrtr

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

// Stats are the numbers of one moment, for a gauge or a page of an operator's.
type Stats struct {
	// Rounds are the requests that are being served. A call of a legacy client counts
	// while its rounds run, and not while its user is asked.
	Rounds int
	// Held are the handlers that wait for an answer, and HeldBytes the memory that
	// [Limits.MaxFrameBytes] bounds. Running are the linear handlers that run now.
	Held, HeldBytes, Running int
	// Orphans are the rounds that run though their clients have left.
	Orphans int
	// Draining says that [Runtime.Drain] was called, and Closed that the runtime is
	// closed.
	Draining, Closed bool
}

// Stats counts the rounds and the handlers of this moment.
func (rt *Runtime) Stats() Stats {
	rt.works.mu.Lock()
	orphans := rt.works.count
	rt.works.mu.Unlock()
	t := rt.frames
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Orphans: orphans,
		Rounds:  int(rt.rounds.Load()),
		Held:    t.parked.places, HeldBytes: t.all.bytes, Running: t.running.places,
		Draining: t.takesNoFrames, Closed: t.closed,
	}
}

// The ways in which a server waits for a user, in [Waiting].
const (
	WayHeld   = "held"   // the handler is held, and the client has its questions
	WayLegacy = "legacy" // the client is asked while its request is open
	WayTask   = "task"   // the call is a task: see the Waiting of tasks.Manager
)

// Waiting counts the calls of one kind that wait for their users at this instance. A call that
// is neither held nor legacy nor a task waits at its client, and no server knows of it.
type Waiting struct {
	Method, Name string // as in an [Event]
	Era          era.Era
	Way          string
	Calls        int
	Longest      time.Duration // since its questions went out
}

// Waiting counts the calls that wait for their users here, except tasks. It walks all of them,
// so call it at the rate of a metrics scrape, not for each request.
func (rt *Runtime) Waiting() []Waiting {
	found := tallied{}
	now := time.Now()
	t := rt.frames
	t.mu.Lock()
	for r := t.parked.first; r != nil; r = r.links[t.parked.by].next {
		l := r.call.lock()
		ex := l.ex
		l.mu.Unlock()
		if ex.client.Era == era.Modern && !r.isTask {
			found.add(&ex, WayHeld, now.Sub(t.began.Add(r.expires-t.ttl)))
		}
	}
	t.mu.Unlock()
	rt.asking.mu.Lock()
	for l := range rt.asking.calls {
		found.add(&l.last.ex, WayLegacy, now.Sub(l.asked))
	}
	rt.asking.mu.Unlock()
	return slices.SortedFunc(maps.Values(found), func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Way, b.Way), cmp.Compare(a.Era, b.Era))
	})
}

// tallied maps a Waiting without its Calls and Longest to the complete one.
type tallied map[Waiting]Waiting

func (t tallied) add(ex *exchange, way string, since time.Duration) {
	key := Waiting{Method: ex.method, Name: nameInLog(ex.method, ex.name), Era: ex.client.Era, Way: way}
	w, known := t[key]
	if !known {
		w = key
	}
	w.Calls++
	w.Longest = max(w.Longest, since)
	t[key] = w
}

// asking is the set of legacy calls whose users are being asked.
type asking struct {
	mu    sync.Mutex
	calls map[*legacyRounds]struct{}
}

// begins adds a call to the set, until answered is called.
func (a *asking) begins(l *legacyRounds) (answered func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = map[*legacyRounds]struct{}{}
	}
	a.calls[l] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.calls, l)
	}
}
