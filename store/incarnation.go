package store

import (
	"context"
	"strings"
	"sync"
	"time"
)

// EpochOf names an incarnation of a store's contents. Both are of letters and digits.
// Stores make their epochs with it.
func EpochOf(contents, incarnation string) string { return contents + "-" + incarnation }

// Contents is the part of an epoch that names the contents.
func Contents(epoch string) string {
	contents, _, _ := strings.Cut(epoch, "-")
	return contents
}

// Kin reports whether two epochs are incarnations of the same contents. What is found under
// the one was written under either. But what is not found may have been lost: somebody who
// holds a key of the former epoch must take its record's absence for a doubt, and ask
// whoever knows whether the effect happened.
func Kin(a, b string) bool { return Contents(a) != "" && Contents(a) == Contents(b) }

// HighWater notes how far the writes of an epoch have come, for a store to notice that its
// backend has gone back. The zero value is ready.
type HighWater struct {
	mu    sync.Mutex
	epoch string
	at    Revision
}

// Reached is that of [Marker].
func (h *HighWater) Reached(epoch string) Revision {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch != epoch {
		return 0
	}
	return h.at
}

// Write runs a write of a backend. If its revision was seen before it began, by this handle
// or by whoever made the key, the backend has lost writes: then end ends the key's epoch,
// and the write is [ErrForgotten].
func (h *HighWater) Write(key Key, write func() (Revision, error), end func() error) (Revision, error) {
	floor := max(h.Reached(key.Epoch), key.After)
	at, err := write()
	if err != nil {
		return 0, err
	}
	if at <= floor {
		if err := end(); err != nil {
			return 0, err // the next write finds it too
		}
		return 0, ErrForgotten
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch != key.Epoch {
		h.epoch, h.at = key.Epoch, 0
	}
	h.at = max(h.at, at)
	return at, nil
}

// Settings has the settings of a backend looked at again, once a minute, by whoever writes
// first then: what keeps its promises at Open may be changed later. The zero value looks at
// nothing.
type Settings struct {
	look  func(ctx context.Context) error // nil looks at nothing
	mu    sync.Mutex
	next  time.Time
	unfit error
}

const (
	lookEvery = time.Minute
	lookAgain = 5 * time.Second // after a look that failed
)

// Hold looks at the settings, and from then on. A look returns a [*UsageError] for settings
// that cannot keep the promise; any other error says nothing about them.
func (s *Settings) Hold(ctx context.Context, look func(ctx context.Context) error) error {
	s.look, s.next = look, time.Now().Add(lookEvery)
	return look(ctx)
}

// LookAgain has the next Check look, for tests.
func (s *Settings) LookAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = time.Time{}
}

// Check returns why nothing can be written, as of the last look.
func (s *Settings) Check(ctx context.Context) error {
	if s.look == nil {
		return nil
	}
	s.mu.Lock()
	now, unfit := time.Now(), s.unfit
	if now.Before(s.next) {
		s.mu.Unlock()
		return unfit
	}
	s.next = now.Add(lookEvery) // the others do not wait for this look
	s.mu.Unlock()
	err := s.look(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil || IsVerdict(err):
		s.unfit = err
	default:
		s.next = now.Add(lookAgain)
	}
	return s.unfit
}

// A Clock is the caller's part in the expiry of records. It has two readings, which differ
// while somebody moves the clock of the machine: the wall clock, and what that showed at
// first with the time that has passed since.
type Clock struct {
	began time.Time
	ahead time.Duration
}

// NewClock returns one that runs from now.
func NewClock() Clock { return Clock{began: time.Now()} }

// Ahead is the clock of a machine whose clock is ahead by so much, for tests.
func (c Clock) Ahead(by time.Duration) Clock { return Clock{c.began, c.ahead + by} }

// Early is the earlier reading: a record has not expired before.
func (c Clock) Early() time.Time {
	now := time.Now()
	early, _ := c.readings(now, now)
	return early
}

// Late is the later reading: a new record lives from then.
func (c Clock) Late() time.Time {
	now := time.Now()
	_, late := c.readings(now, now)
	return late
}

// readings are both, in their order, where the wall clock shows one time, and another has come
// by the clock that nobody moves. What time.Now returns has both.
func (c Clock) readings(wall, now time.Time) (early, late time.Time) {
	early = wall.Round(0).Add(c.ahead)
	late = c.began.Add(now.Sub(c.began)).Round(0).Add(c.ahead)
	if late.Before(early) {
		return late, early
	}
	return early, late
}
