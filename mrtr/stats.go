package mrtr

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

// Stats are a snapshot, for metrics and status pages.
type Stats struct {
	// Rounds are the requests that are being served. A call of a legacy client counts while its
	// rounds run, and not while its user is asked.
	Rounds int
	// Held are the handlers that wait for an answer, and HeldBytes the memory that
	// [Limits.MaxFrameBytes] bounds. Running are the linear handlers that run now.
	Held, HeldBytes, Running int
	// Orphans are the rounds that run though their clients have left.
	Orphans int
	// Draining says that [Runtime.Drain] was called, and Closed that the runtime is closed.
	Draining, Closed bool
}

// Stats counts the rounds and the handlers of this moment.
func (rt *Runtime) Stats() Stats {
	s := Stats{Rounds: int(rt.rounds.Load())}
	rt.door.mu.Lock()
	s.Draining = rt.door.draining
	rt.door.mu.Unlock()
	for _, service := range rt.each() {
		service.Count(&s, func(Waiting, time.Time) {})
	}
	return s
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
	Method, Name string // as in a log
	Era          era.Era
	Way          string
	Calls        int
	Longest      time.Duration // since its questions went out
}

// Waiting counts the calls that wait for their users here, except tasks. It walks all of them,
// so call it at the rate of a metrics scrape, not for each request.
func (rt *Runtime) Waiting() []Waiting {
	found, now := map[Waiting]Waiting{}, time.Now()
	add := func(key Waiting, since time.Time) {
		w, known := found[key]
		if !known {
			w = key
		}
		w.Calls++
		w.Longest = max(w.Longest, now.Sub(since))
		found[key] = w
	}
	for _, service := range rt.each() {
		service.Count(new(Stats), add)
	}
	rt.asking.mu.Lock()
	for w, since := range rt.asking.calls {
		add(*w, since)
	}
	rt.asking.mu.Unlock()
	return slices.SortedFunc(maps.Values(found), func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Way, b.Way), cmp.Compare(a.Era, b.Era))
	})
}
