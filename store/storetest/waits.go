package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

// promptly bounds how long after a change a waiter may wake.
const promptly = 30 * time.Second

var waitRules = []rule{{
	name:        "a waiter wakes when the record changes",
	explanation: "store.Wait returns soon after an Update, whoever made it, and each time.",
	check: func(tr *trial) {
		writer := tr.Store
		if tr.Another != nil {
			writer = tr.Another()
		}
		at := tr.create("record", "0")
		for turn := range 5 {
			woke := make(chan error, 1)
			go func() { woke <- tr.past("record", at, 50*time.Millisecond+promptly) }()
			time.Sleep(50 * time.Millisecond)
			select {
			case err := <-woke:
				fault.Failf("it returned before the change: %v", err)
			default:
			}
			now, err := writer.Update(tr.ctx, tr.key("record"), at, []byte{byte('0' + turn)}, ttl)
			succeeds("Update", err)
			succeeds(fmt.Sprintf("change %d", turn), <-woke)
			at = now
		}
	},
}, {
	name:        "no change is missed",
	explanation: "A change between the Get and the Wait that follows it is noticed, because Wait is told the revision that was read.",
	check: func(tr *trial) {
		at := tr.create("record", "begin")
		done := make(chan error, 1)
		go func() {
			done <- fault.Caught(func() {
				for range 100 {
					at = tr.update("record", at, "more")
				}
				tr.update("record", at, "end")
			})
		}()
		ctx, cancel := context.WithTimeout(tr.ctx, patience/2)
		defer cancel()
		for {
			value, now, err := tr.Store.Get(ctx, tr.key("record"))
			if err == nil && string(value) == "end" {
				succeeds("the writer", <-done)
				return
			}
			if err == nil {
				err = store.Wait(ctx, tr.Store, tr.key("record"), now)
			}
			if err != nil {
				succeeds(fmt.Sprintf("Wait at %d", now), errors.Join(err, <-done))
			}
		}
	},
}, {
	name:        "a waiter that is late returns at once",
	explanation: "Wait returns nil when the record is past the revision already, or is not there.",
	check: func(tr *trial) {
		at := tr.create("record", "one")
		tr.holds("record", "two", tr.update("record", at, "two"))
		for name, at := range map[string]store.Revision{"record": at, "nobody": 1} {
			ctx, cancel := context.WithTimeout(tr.ctx, promptly)
			err := store.Wait(ctx, tr.Store, tr.key(name), at)
			cancel()
			succeeds("Wait on "+name, err)
		}
	},
}, {
	name:        "a waiter does not spin",
	explanation: "While nothing changes, Wait blocks until its context ends and returns that error. A nil time after time would make its caller ask the store without pause.",
	check: func(tr *trial) {
		const quiet = 500 * time.Millisecond
		at := tr.create("record", "one")
		ctx, cancel := context.WithTimeout(tr.ctx, quiet)
		defer cancel()
		for range 6 {
			if err := store.Wait(ctx, tr.Store, tr.key("record"), at); err != nil {
				want("Wait", err, context.DeadlineExceeded)
				return
			}
		}
		fault.Failf("it returned nil time after time in %v, and nothing had changed", quiet)
	},
}, {
	name:        "many wait for one",
	explanation: "All who wait for a record wake when it changes.",
	check: func(tr *trial) {
		at := tr.create("record", "one")
		woke := make(chan error, 1)
		go func() {
			woke <- fault.Caught(func() {
				each(racers, func(int) { succeeds("Wait", tr.past("record", at, patience/2)) })
			})
		}()
		time.Sleep(50 * time.Millisecond)
		tr.update("record", at, "two")
		succeeds("one of them", <-woke)
	},
}, {
	name:        "a waiter wakes when the record expires",
	explanation: "Wait returns, not much later, when the record's time has passed: whoever waits for a holder that died goes on.",
	check: func(tr *trial) {
		at := tr.createFor(store.MinTTL, "record", "one")
		ctx, cancel := context.WithTimeout(tr.ctx, store.MinTTL+tr.Slack+promptly)
		defer cancel()
		for {
			succeeds("Wait", store.Wait(ctx, tr.Store, tr.key("record"), at))
			if _, _, err := tr.Store.Get(ctx, tr.key("record")); err != nil {
				want("Get", err, store.ErrNotFound)
				return
			}
		}
	},
}}

// past waits as a caller does, who looks after each return. It returns nil when the record
// is past the revision.
func (tr *trial) past(name string, at store.Revision, within time.Duration) error {
	ctx, cancel := context.WithTimeout(tr.ctx, within)
	defer cancel()
	for {
		if err := store.Wait(ctx, tr.Store, tr.key(name), at); err != nil {
			return fmt.Errorf("Wait at %d: %w", at, err)
		}
		_, now, err := tr.Store.Get(ctx, tr.key(name))
		if err != nil || now > at {
			return err
		}
	}
}
