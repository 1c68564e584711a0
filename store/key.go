package store

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"
)

// A Key names a record: its name, and the epoch in which the caller expects to
// find it. The epoch is part of the key so that no operation can do without:
// a caller who remembers that a key was used, and finds a store that does not,
// must not take it for unused.
type Key struct {
	// Epoch is what [Store.Epoch] returned when the caller first relied on the
	// store. It has up to 64 letters, digits, hyphens and underscores (ASCII).
	Epoch string
	// Name is one to [MaxName] letters, digits, hyphens and underscores
	// (ASCII), with single dots between them. Upper and lower case differ.
	Name string
	// After is the largest revision in the epoch that the caller knows of, by itself or
	// from a state that carries it ([Marker]). Zero is none. A write whose revision is not
	// larger finds a store that has gone back: the store ends the epoch for everybody, and
	// the answer is [ErrForgotten].
	After Revision
}

const (
	// MaxName is how many bytes a [Key]'s name may have.
	MaxName = 240
	// MinTTL is the shortest time to live. Some backends count in seconds.
	MinTTL = time.Second
	// MaxTTL is the longest time to live.
	MaxTTL = 366 * 24 * time.Hour
	// DefaultMaxValue is how long a value may be unless the options of a store
	// say otherwise: 960 KiB fit in a message of a NATS server as it comes, and are
	// far from the limits of the others.
	DefaultMaxValue = 960 << 10

	maxEpoch = 64
)

// Check returns a [*UsageError] if the key is none. Stores call it first.
func (k Key) Check() error {
	if !isPlain(k.Epoch) || len(k.Epoch) > maxEpoch {
		return Misuse("%q is no epoch: it is what Store.Epoch returned", k.Epoch)
	}
	if !isName(k.Name) {
		return Misuse("%q is no name of a record: 1 to %d of A-Z a-z 0-9 - _, and single dots between them", k.Name, MaxName)
	}
	return nil
}

// CheckWrite returns a [*UsageError] if the key or the time to live of a write
// is none, and [ErrTooLarge] if the value is longer than longest. Stores call
// it first in Create and Update.
func CheckWrite(key Key, value []byte, longest int, ttl time.Duration) error {
	if err := key.Check(); err != nil {
		return err
	}
	if ttl < MinTTL || ttl > MaxTTL {
		return Misuse("a record cannot live %v: it is %v to %v", ttl, MinTTL, MaxTTL)
	}
	if len(value) > longest {
		return ErrTooLarge
	}
	return nil
}

// MaxValue returns the limit that an option of that name means: zero stands for
// [DefaultMaxValue]. It returns a [*UsageError] for a negative one, and for one
// that a record's length cannot have.
func MaxValue(option int) (int, error) {
	switch {
	case option == 0:
		return DefaultMaxValue, nil
	case option < 0 || option > math.MaxInt32:
		return 0, Misuse("MaxValue is %d: it is 1 to %d bytes, or 0 for %d", option, math.MaxInt32, DefaultMaxValue)
	}
	return option, nil
}

func isName(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !isPlain(part) {
			return false
		}
	}
	return len(s) <= MaxName
}

// isPlain reports whether a text is of letters, digits, hyphens and underscores, and not
// empty.
func isPlain(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}

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
