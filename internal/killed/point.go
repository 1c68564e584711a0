//go:build unix

package killed

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Point is a place in the round that pays.
type Point string

// The points, in the order in which a round passes them.
const (
	BeforeClaim Point = "before claim"
	AfterClaim  Point = "after claim"
	Started     Point = "effect noted as started"
	AfterEffect Point = "after the effect"
	AfterRecord Point = "after its record"
	AfterResult Point = "after the result"
)

// Points are those of the table of kills.
var Points = []Point{BeforeClaim, AfterClaim, Started, AfterEffect, AfterRecord, AfterResult}

// trap ends or stops this process at a point, once.
type trap struct {
	point  Point
	signal syscall.Signal

	mu     sync.Mutex
	sprung bool
	passed Point // BeforeClaim, AfterClaim, Started (the effect runs), AfterEffect
	writes int   // Updates since then
	// recordNext: the next Update is the effect's record.
	recordNext bool
}

// stopTime is longer than a stop takes to reach all threads of a process.
const stopTime = 200 * time.Millisecond

// at springs the trap if this is its point.
func (t *trap) at(p Point) {
	t.mu.Lock()
	springs := t.point == p && !t.sprung
	t.sprung = t.sprung || springs
	t.mu.Unlock()
	if !springs {
		return
	}
	_ = syscall.Kill(os.Getpid(), t.signal)
	if t.signal == syscall.SIGKILL {
		select {} // the signal is on its way
	}
	time.Sleep(stopTime)
}

// pass notes how far the round is.
func (t *trap) pass(p Point) {
	t.mu.Lock()
	t.passed, t.writes = p, 0
	t.mu.Unlock()
	t.at(p)
}

// wrote springs the trap where an Update was done: after a claim it notes the effect as
// started.
func (t *trap) wrote() {
	t.mu.Lock()
	t.writes++
	passed, record := t.passed, t.recordNext
	t.recordNext = false
	t.mu.Unlock()
	switch {
	case record:
		t.at(AfterRecord)
	case passed == AfterClaim:
		t.at(Started)
	}
}

// begins says that the effect runs now. Without a store nothing noted it.
func (t *trap) begins() {
	t.mu.Lock()
	remembered := t.passed == AfterClaim
	t.mu.Unlock()
	if !remembered {
		t.at(Started)
	}
	t.mu.Lock()
	t.passed, t.writes = Started, 0
	t.mu.Unlock()
}

// leaves says that the handler returns. If nothing was written since the effect, its
// style makes no record of it, and has no such point; without a store it has.
func (t *trap) leaves(remembered bool) {
	t.mu.Lock()
	recorded := t.writes > 0 || !remembered
	t.mu.Unlock()
	if recorded {
		t.at(AfterRecord)
	}
}

func (t *trap) records() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recordNext = true
}

// trapped is a store whose claims can spring the trap.
type trapped struct {
	store.Store
	trap *trap
}

func (s trapped) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	s.trap.at(BeforeClaim)
	at, err := s.Store.Create(ctx, key, value, ttl)
	if err == nil {
		s.trap.pass(AfterClaim)
	}
	return at, err
}

func (s trapped) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	at, err := s.Store.Update(ctx, key, at, value, ttl)
	if err == nil {
		s.trap.wrote()
	}
	return at, err
}

// Wait is that of the store: embedding alone would hide that it is a Watcher.
func (s trapped) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, s.Store, key, at)
}
