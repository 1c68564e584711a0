package store

import (
	"math"
	"strings"
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
