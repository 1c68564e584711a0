package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// life is the time to live in the rules about it. With a real clock it is what
// the suite waits for.
const life = 2 * time.Second

var expiryRules = []rule{{
	name:        "a record lives its time",
	explanation: "A record is there until its time to live has passed, and then it is gone: Get does not find it, Update conflicts, and the key can be created again. A record that went early would let its round run twice.",
	check: func(tr *trial) error {
		for try := 0; tr.ctx.Err() == nil; try++ {
			key := tr.key(fmt.Sprintf("record.%d", try))
			began := time.Now()
			at, err := tr.Store.Create(tr.ctx, key, []byte("one"), life)
			if err != nil {
				return err
			}
			if err := tr.holds(tr.Store, key, []byte("one"), at); err != nil {
				return err
			}
			time.Sleep(life - 300*time.Millisecond - time.Since(began))
			_, err = tr.Store.Create(tr.ctx, key, []byte("too early"), life)
			if time.Since(began) >= life {
				continue // the machine stood still: this proves nothing
			}
			if err := want("Create before the time has passed", err, store.ErrExists); err != nil {
				return err
			}
			time.Sleep(life + tr.Slack - time.Since(began))
			return tr.gone(key, at)
		}
		return errors.New("the machine is too slow to say")
	},
}, {
	name:        "an update renews the time",
	explanation: "After an Update the record lives its new time to live, whatever the old one was: a holder keeps its claim alive by writing it again.",
	check: func(tr *trial) error {
		shorter := tr.key("shorter")
		was, err := tr.create("shorter", "one")
		if err != nil {
			return err
		}
		var longer store.Key
		var at store.Revision
		for try := 0; ; try++ {
			longer = tr.key(fmt.Sprintf("longer.%d", try))
			began := time.Now()
			if at, err = tr.Store.Create(tr.ctx, longer, []byte("one"), life); err != nil {
				return err
			}
			at, err = tr.Store.Update(tr.ctx, longer, at, []byte("two"), ttl)
			if err == nil {
				break
			}
			if time.Since(began) < life || tr.ctx.Err() != nil { // or else the machine stood still
				return err
			}
		}
		short, err := tr.Store.Update(tr.ctx, shorter, was, []byte("two"), life)
		if err != nil {
			return err
		}
		time.Sleep(life + max(tr.Slack, time.Second))
		if err := tr.holds(tr.Store, longer, []byte("two"), at); err != nil {
			return fmt.Errorf("after the first time to live had passed: %w", err)
		}
		if _, err = tr.Store.Update(tr.ctx, longer, at, []byte("three"), ttl); err != nil {
			return fmt.Errorf("Update after the first time to live had passed: %w", err)
		}
		return tr.gone(shorter, short)
	},
}, {
	name:        "a sweep removes what has expired",
	explanation: "Sweep removes expired records and no others, and says whether any are left: what users have said does not wait for the next call.",
	needs:       swept,
	check: func(tr *trial) error {
		sweep := func(left bool) error {
			got, err := tr.Store.(store.Sweeper).Sweep(tr.ctx)
			if err == nil && got != left {
				err = fmt.Errorf("Sweep reports %t", got)
			}
			return err
		}
		for i := range 600 { // more than a store may remove at once
			if _, err := tr.Store.Create(tr.ctx, tr.key(fmt.Sprintf("short.%d", i)), []byte("short"), store.MinTTL); err != nil {
				return err
			}
		}
		long, err := tr.create("long", "one")
		if err != nil {
			return err
		}
		time.Sleep(store.MinTTL + tr.Slack)
		if err := sweep(true); err != nil {
			return fmt.Errorf("with one record that lives: %w", err)
		}
		if err := tr.holds(tr.Store, tr.key("long"), []byte("one"), long); err != nil {
			return err
		}
		if _, err := tr.Store.Update(tr.ctx, tr.key("long"), long, []byte("one"), store.MinTTL); err != nil {
			return err
		}
		time.Sleep(store.MinTTL + tr.Slack)
		if err := sweep(false); err != nil {
			return fmt.Errorf("with none: %w", err)
		}
		return nil
	},
}}

// gone checks that an expired record is one no more.
func (tr *trial) gone(key store.Key, at store.Revision) error {
	if err := tr.soon(func() error {
		_, _, err := tr.Store.Get(tr.ctx, key)
		return want("Get after the time has passed", err, store.ErrNotFound)
	}); err != nil {
		return err
	}
	_, err := tr.Store.Update(tr.ctx, key, at, []byte("too late"), life)
	if err := want("Update after the time has passed", err, store.ErrConflict); err != nil {
		return err
	}
	now, err := tr.Store.Create(tr.ctx, key, []byte("anew"), life)
	if errors.Is(err, store.ErrExists) {
		return errors.New("Create after the time has passed: the record is still in the way")
	}
	if err != nil {
		return err
	}
	return tr.holds(tr.Store, key, []byte("anew"), now)
}

var limitRules = []rule{{
	name:        "a full store refuses and drops nothing",
	explanation: "A store without room answers ErrFull to a Create. It keeps every record, as a record that was dropped would let its round run again, and it takes an Update that needs no more room.",
	needs:       ownLimit,
	check: func(tr *trial) error {
		s := tr.Small()
		epoch, err := s.Epoch(tr.ctx)
		if err != nil {
			return err
		}
		value := bytes.Repeat([]byte("1"), 1<<10)
		var revisions []store.Revision
		name := func(i int) store.Key { return store.Key{Epoch: epoch, Name: fmt.Sprintf("record.%d", i)} }
		for {
			at, err := s.Create(tr.ctx, name(len(revisions)), value, ttl)
			if errors.Is(err, store.ErrFull) {
				break
			}
			if err != nil {
				return fmt.Errorf("Create %d: %w, instead of ErrFull", len(revisions), err)
			}
			if revisions = append(revisions, at); len(revisions) == 100 {
				return errors.New("it has taken a hundred records")
			}
		}
		if len(revisions) < 2 {
			return fmt.Errorf("it was full after %d records", len(revisions))
		}
		_, err = s.Create(tr.ctx, name(0), value, ttl)
		if err := want("Create of a record that is there", err, store.ErrExists); err != nil {
			return err
		}
		for i, at := range revisions {
			if err := tr.holds(s, name(i), value, at); err != nil {
				return err
			}
			other := bytes.Repeat([]byte("2"), len(value))
			at, err := s.Update(tr.ctx, name(i), at, other, ttl)
			if err != nil {
				return fmt.Errorf("Update that needs no more room: %w", err)
			}
			if err := tr.holds(s, name(i), other, at); err != nil {
				return err
			}
		}
		return nil
	},
}, {
	name:        "expired records make room",
	explanation: "A full store takes records again when others have expired.",
	needs:       ownLimit,
	check: func(tr *trial) error {
		s := tr.Small()
		epoch, err := s.Epoch(tr.ctx)
		if err != nil {
			return err
		}
		for turn := range 2 {
			value, err, n := make([]byte, 1<<10), error(nil), 0
			filled := map[store.Key]store.Revision{}
			for ; err == nil && n < 100; n++ {
				key := store.Key{Epoch: epoch, Name: fmt.Sprintf("record.%d.%d", turn, n)}
				filled[key], err = s.Create(tr.ctx, key, value, ttl)
				if err != nil {
					delete(filled, key)
				}
			}
			if err := want(fmt.Sprintf("Create of record %d", n), err, store.ErrFull); err != nil {
				return err
			}
			if n < 2 {
				return fmt.Errorf("filled for the %d. time, it took nothing", turn+1)
			}
			for key, at := range filled {
				if _, err := s.Update(tr.ctx, key, at, value, store.MinTTL); err != nil {
					return fmt.Errorf("Update that needs no more room: %w", err)
				}
			}
			time.Sleep(store.MinTTL + tr.Slack)
		}
		return nil
	},
}}
