// Package sighting judges the silence of those who write records, such as the holder of a
// claim, by the reader's own clock: clocks of machines differ, and a record's age in the
// writer's time says nothing.
package sighting

import (
	"sync"
	"time"
)

// Log holds since when each record has been at the revision that was seen last. It outlives
// the request that looked: where each request waits for less than a lease, the next one goes
// on counting. The zero value is ready to use.
type Log[Key comparable, Revision ~uint64] struct {
	mu sync.Mutex
	of map[Key]sighting[Revision]
}

type sighting[Revision ~uint64] struct {
	at    Revision
	since time.Time
}

// Max bounds the records that are watched at once. One that is dropped is counted anew,
// which costs its reader a lease at most.
const Max = 4096

// Note notes a look at a record, and returns since when it has been as it is.
func (l *Log[Key, Revision]) Note(key Key, at Revision) (since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.of[key]
	if known && at <= last.at { // a read that lags is no sign of life
		return last.since
	}
	if l.of == nil {
		l.of = map[Key]sighting[Revision]{}
	}
	for other := range l.of {
		if known || len(l.of) < Max {
			break
		}
		delete(l.of, other)
	}
	now := time.Now()
	l.of[key] = sighting[Revision]{at: at, since: now}
	return now
}
