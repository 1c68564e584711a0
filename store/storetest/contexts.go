package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

var contextRules = []rule{{
	name:        "an ended context does nothing",
	explanation: "An operation whose context has ended returns the context's error, and nothing is written.",
	check: func(tr *trial) error {
		at, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		ended, cancel := context.WithCancel(tr.ctx)
		cancel()
		ops := map[string]func() error{
			"Epoch":  func() error { _, err := tr.Store.Epoch(ended); return err },
			"Create": func() error { _, err := tr.Store.Create(ended, tr.key("other"), nil, ttl); return err },
			"Update": func() error { _, err := tr.Store.Update(ended, tr.key("record"), at, nil, ttl); return err },
			"Get":    func() error { _, _, err := tr.Store.Get(ended, tr.key("record")); return err },
			"Wait":   func() error { return store.Wait(ended, tr.Store, tr.key("record"), at) },
		}
		for op, call := range ops {
			if err := want(op, call(), context.Canceled); err != nil {
				return err
			}
		}
		if _, err := tr.create("other", "two"); err != nil {
			return err
		}
		return tr.holds(tr.Store, tr.key("record"), []byte("one"), at)
	},
}, {
	name:        "an interrupted write is done or not done",
	explanation: "A write whose context ends in the middle leaves the old record or the new one whole, at a revision that nobody else has.",
	check:       interruptWrites,
}}

// interruptWrites ends contexts at many moments of a write.
func interruptWrites(tr *trial) error {
	const attempts = 60
	var mu sync.Mutex
	revisions := map[store.Revision]string{}
	note := func(what string, at store.Revision) error {
		mu.Lock()
		defer mu.Unlock()
		if other, twice := revisions[at]; twice && other != what {
			return fmt.Errorf("%s and %s both have revision %d", other, what, at)
		}
		revisions[at] = what
		return nil
	}
	return each(attempts, func(i int) error {
		key := tr.key(fmt.Sprintf("record.%d", i))
		first, second := []byte(fmt.Sprintf("first %d", i)), []byte(fmt.Sprintf("second %d", i))

		ctx, cancel := context.WithTimeout(tr.ctx, time.Duration(i)*50*time.Microsecond)
		at, err := tr.Store.Create(ctx, key, first, ttl)
		cancel()
		if err != nil {
			if err := wantUnsettled("an interrupted Create of a new key", err); err != nil {
				return err
			}
			// The writer looks: its own record may be there, or come late.
			at, err = tr.Store.Create(tr.ctx, key, first, ttl)
			if errors.Is(err, store.ErrExists) {
				err = tr.soon(func() (err error) {
					_, at, err = tr.Store.Get(tr.ctx, key)
					return err
				})
			}
			if err != nil {
				return fmt.Errorf("settling a Create: %w", err)
			}
		}
		if err := note(string(first), at); err != nil {
			return err
		}
		if err := tr.holds(tr.Store, key, first, at); err != nil {
			return err
		}

		ctx, cancel = context.WithTimeout(tr.ctx, time.Duration(attempts-i)*50*time.Microsecond)
		now, err := tr.Store.Update(ctx, key, at, second, ttl)
		cancel()
		if err != nil {
			if err := wantUnsettled("an interrupted Update that nobody contends", err); err != nil {
				return err
			}
			now, err = tr.Store.Update(tr.ctx, key, at, second, ttl)
			if errors.Is(err, store.ErrConflict) {
				err = tr.soon(func() (err error) {
					if _, now, err = tr.Store.Get(tr.ctx, key); err == nil && now <= at {
						err = errors.New("a retry conflicts, and yet the interrupted Update was not done")
					}
					return err
				})
			}
			if err != nil {
				return fmt.Errorf("settling an Update: %w", err)
			}
		}
		if now <= at {
			return fmt.Errorf("the Update has revision %d, after %d", now, at)
		}
		if err := note(string(second), now); err != nil {
			return err
		}
		return tr.holds(tr.Store, key, second, now)
	})
}
