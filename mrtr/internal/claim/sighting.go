package claim

import (
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// sightings hold since when each running turn has been at the revision that was seen
// last. Whether a holder is silent is judged by the reader's own clock, since clocks
// differ. The sighting outlives the request: where each request waits for less than a
// lease, the next one goes on counting.
type sightings struct {
	mu sync.Mutex
	of map[store.Key]sighting
}

type sighting struct {
	at    store.Revision
	since time.Time
}

// maxSightings bounds the turns that are watched at once. One that is dropped is counted
// anew, which costs its request a lease at most.
const maxSightings = 4096

// note notes a look at a turn, and returns since when it has been as it is.
func (s *sightings) note(key store.Key, at store.Revision) (since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.of[key]
	if known && at <= last.at { // a read that lags is no sign of life
		return last.since
	}
	if s.of == nil {
		s.of = map[store.Key]sighting{}
	}
	for other := range s.of {
		if known || len(s.of) < maxSightings {
			break
		}
		delete(s.of, other)
	}
	now := time.Now()
	s.of[key] = sighting{at: at, since: now}
	return now
}

// silence is how long the holder has not written. A record that is older than its
// lease by any clock needs no watching.
func (t *Table) silence(key store.Key, at store.Revision, r *record) time.Duration {
	since := t.seen.note(key, at)
	if time.Since(r.written) > r.lease+2*t.Skew {
		return r.lease
	}
	return time.Since(since)
}
