package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// promptly bounds how long after a change a waiter may wake.
const promptly = 30 * time.Second

var waitRules = []rule{{
	name:        "a waiter wakes when the record changes",
	explanation: "store.Wait returns soon after an Update, whoever made it, and each time.",
	check: func(tr *trial) error {
		writer := tr.Store
		if tr.Another != nil {
			writer = tr.Another()
		}
		key := tr.key("record")
		at, err := tr.create("record", "0")
		if err != nil {
			return err
		}
		for turn := range 5 {
			woke := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(tr.ctx, 50*time.Millisecond+promptly)
				defer cancel()
				woke <- tr.past(ctx, key, at)
			}()
			time.Sleep(50 * time.Millisecond)
			select {
			case err := <-woke:
				return fmt.Errorf("it returned before the change: %v", err)
			default:
			}
			now, err := writer.Update(tr.ctx, key, at, []byte{byte('0' + turn)}, ttl)
			if err != nil {
				return err
			}
			if err := <-woke; err != nil {
				return fmt.Errorf("change %d: %w", turn, err)
			}
			at = now
		}
		return nil
	},
}, {
	name:        "no change is missed",
	explanation: "A change between the Get and the Wait that follows it is noticed, because Wait is told the revision that was read.",
	check: func(tr *trial) error {
		const last = 100
		key := tr.key("record")
		at, err := tr.create("record", "begin")
		if err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() {
			at := at
			for range last {
				now, err := tr.Store.Update(tr.ctx, key, at, []byte("more"), ttl)
				if err != nil {
					done <- err
					return
				}
				at = now
			}
			_, err := tr.Store.Update(tr.ctx, key, at, []byte("end"), ttl)
			done <- err
		}()
		ctx, cancel := context.WithTimeout(tr.ctx, patience/2)
		defer cancel()
		for {
			value, now, err := tr.Store.Get(ctx, key)
			if err != nil {
				return errors.Join(err, <-done)
			}
			if string(value) == "end" {
				return <-done
			}
			if err := store.Wait(ctx, tr.Store, key, now); err != nil {
				return errors.Join(fmt.Errorf("Wait at %d: %w", now, err), <-done)
			}
		}
	},
}, {
	name:        "a waiter that is late returns at once",
	explanation: "Wait returns nil when the record is past the revision already, or is not there.",
	check: func(tr *trial) error {
		at, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		now, err := tr.Store.Update(tr.ctx, tr.key("record"), at, []byte("two"), ttl)
		if err != nil {
			return err
		}
		if err := tr.holds(tr.Store, tr.key("record"), []byte("two"), now); err != nil {
			return err
		}
		for key, at := range map[store.Key]store.Revision{tr.key("record"): at, tr.key("nobody"): 1} {
			ctx, cancel := context.WithTimeout(tr.ctx, promptly)
			err := store.Wait(ctx, tr.Store, key, at)
			cancel()
			if err != nil {
				return fmt.Errorf("Wait on %s: %w", key.Name, err)
			}
		}
		return nil
	},
}, {
	name:        "a waiter does not spin",
	explanation: "While nothing changes, Wait blocks until its context ends and returns that error. A nil time after time would make its caller ask the store without pause.",
	check: func(tr *trial) error {
		const quiet = 500 * time.Millisecond
		at, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(tr.ctx, quiet)
		defer cancel()
		for nothing := 0; ; nothing++ {
			err := store.Wait(ctx, tr.Store, tr.key("record"), at)
			if err != nil {
				return want("Wait", err, context.DeadlineExceeded)
			}
			if nothing == 5 {
				return fmt.Errorf("it returned nil %d times in %v, and nothing had changed", nothing, quiet)
			}
		}
	},
}, {
	name:        "many wait for one",
	explanation: "All who wait for a record wake when it changes.",
	check: func(tr *trial) error {
		at, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		woke := make(chan error, 1)
		go func() {
			woke <- each(racers, func(int) error {
				ctx, cancel := context.WithTimeout(tr.ctx, patience/2)
				defer cancel()
				return tr.past(ctx, tr.key("record"), at)
			})
		}()
		time.Sleep(50 * time.Millisecond)
		if _, err = tr.Store.Update(tr.ctx, tr.key("record"), at, []byte("two"), ttl); err != nil {
			return err
		}
		return <-woke
	},
}, {
	name:        "a waiter wakes when the record expires",
	explanation: "Wait returns, not much later, when the record's time has passed: whoever waits for a holder that died goes on.",
	check: func(tr *trial) error {
		at, err := tr.Store.Create(tr.ctx, tr.key("record"), []byte("one"), store.MinTTL)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(tr.ctx, store.MinTTL+tr.Slack+promptly)
		defer cancel()
		for {
			if err := store.Wait(ctx, tr.Store, tr.key("record"), at); err != nil {
				return fmt.Errorf("Wait: %w", err)
			}
			if _, _, err := tr.Store.Get(ctx, tr.key("record")); err != nil {
				return want("Get", err, store.ErrNotFound)
			}
		}
	},
}}

// past waits as a caller does, who looks after each return.
func (tr *trial) past(ctx context.Context, key store.Key, at store.Revision) error {
	for {
		if err := store.Wait(ctx, tr.Store, key, at); err != nil {
			return fmt.Errorf("Wait at %d: %w", at, err)
		}
		_, now, err := tr.Store.Get(ctx, key)
		if err != nil || now > at {
			return err
		}
	}
}
