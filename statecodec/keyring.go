package statecodec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
)

// Keyring is a ring of keys that can be replaced while codecs use it: the first key seals, all
// of them open. It may be used from several goroutines at once.
//
// Where several instances share their keys, a new one goes to each of them in three phases, so
// that no token meets an instance which cannot open it:
//
//	ring.Replace(old, new) // 1. every instance opens what the others will seal
//	ring.Replace(new, old) // 2. when all have done so: seal with the new one
//	ring.Replace(new)      // 3. when the last token of the old one has expired
//
// A single process needs no first phase.
type Keyring struct {
	keys atomic.Pointer[[]Key]
}

// NewKeyring makes a ring of one key or more. Keys that cannot be used are a [*UsageError].
func NewKeyring(keys ...Key) (*Keyring, error) {
	r := &Keyring{}
	if err := r.Replace(keys...); err != nil {
		return nil, err
	}
	return r, nil
}

// Replace puts other keys in the place of all. Tokens that are sealed and opened meanwhile are
// so with either. Keys that cannot be used are a [*UsageError], and leave the ring as it was.
func (r *Keyring) Replace(keys ...Key) error {
	if err := checkKeys(keys); err != nil {
		return misuse("a keyring: %w", err)
	}
	keys = slices.Clone(keys)
	r.keys.Store(&keys)
	return nil
}

func checkKeys(keys []Key) error {
	if len(keys) == 0 {
		return errors.New("it needs a key")
	}
	for i, key := range keys {
		if key.material == nil {
			return fmt.Errorf("key %d is the zero Key", i+1)
		}
		// Two different secrets have the same id once in four billion
		// pairs, and another key is easily made.
		if first := slices.IndexFunc(keys, func(k Key) bool { return k.id == key.id }); first < i {
			return fmt.Errorf("keys %d and %d have the same id, %s", first+1, i+1, key.ID())
		}
	}
	return nil
}

// Format writes the ids of the keys for every verb. They may be logged.
func (r *Keyring) Format(f fmt.State, _ rune) { io.WriteString(f, r.redacted()) }

// MarshalText returns the ids of the keys, for JSON and slog.
func (r *Keyring) MarshalText() ([]byte, error) { return []byte(r.redacted()), nil }

func (r *Keyring) redacted() string { return "statecodec.Keyring(keys " + r.ids() + ", redacted)" }

func (r *Keyring) ids() string {
	var ids []string
	if r != nil && r.keys.Load() != nil {
		for _, key := range *r.keys.Load() {
			ids = append(ids, key.id.String())
		}
	}
	return strings.Join(ids, " ")
}

// derived is a ring with the sub-keys of one purpose, and of one state of its keyring.
type derived struct {
	from *[]Key
	ring []*ringKey
}

// current is the ring with the keys that it has now. A key that stays keeps its sub-keys.
func (c *Codec) current() []*ringKey {
	keys, was := c.opts.Keyring.keys.Load(), c.derived.Load()
	if was != nil && was.from == keys {
		return was.ring
	}
	now := &derived{from: keys, ring: make([]*ringKey, len(*keys))}
	for i, key := range *keys {
		if was != nil {
			if at := slices.IndexFunc(was.ring, func(k *ringKey) bool {
				return k.key.id == key.id && bytes.Equal(k.key.material().secret, key.material().secret)
			}); at >= 0 {
				now.ring[i] = was.ring[at]
				continue
			}
		}
		now.ring[i] = newRingKey(key, c.purpose)
	}
	c.derived.Store(now)
	return now.ring
}
