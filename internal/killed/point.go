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
	Nowhere      Point = ""
	BeforeClaim  Point = "before claim"
	AfterClaim   Point = "after claim"
	Started      Point = "effect noted as started"
	AfterEffect  Point = "after the effect"
	AfterRecord  Point = "after its record"
	AfterResult  Point = "after the result"
	DuringEffect Point = "during the effect"
)

// Points are those of the table of kills.
var Points = []Point{BeforeClaim, AfterClaim, Started, AfterEffect, AfterRecord, AfterResult}

// trap ends or stops this process at a point, once.
type trap struct {
	point  Point
	signal syscall.Signal

	mu     sync.Mutex
	sprung bool
	claims int // Creates that were done
	writes int // Updates that were done, since the last claim or the effect
}

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
	time.Sleep(time.Millisecond) // a stop takes effect at the next system call
}

// noted springs the trap if this is its point and something was written since the
// claim or the effect: where nothing is, the style has no such point.
func (t *trap) noted(p Point) {
	t.mu.Lock()
	written := t.claims == 0 || t.writes > 0 // without a store every point counts
	t.mu.Unlock()
	if written {
		t.at(p)
	}
}

// wrote counts a write.
func (t *trap) wrote(claim bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if claim {
		t.claims++
		t.writes = 0
	} else {
		t.writes++
	}
}

// happened marks the effect, so that the writes after it are told from those before.
func (t *trap) happened() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes = 0
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
		s.trap.wrote(true)
		s.trap.at(AfterClaim)
	}
	return at, err
}

func (s trapped) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	at, err := s.Store.Update(ctx, key, at, value, ttl)
	if err == nil {
		s.trap.wrote(false)
	}
	return at, err
}

// Wait is that of the store: embedding alone would hide that it is a Watcher.
func (s trapped) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, s.Store, key, at)
}
