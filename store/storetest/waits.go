package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

var valueRules = []rule{{
	name:        "values come back as they were",
	explanation: "A value may be empty and may hold any bytes, in a Create and in an Update.",
	check: func(tr *trial) {
		every := ""
		for i := range 256 {
			every += string([]byte{byte(i), 0, byte(255 - i)})
		}
		for i, value := range []string{"", "\x00", "\x00\x00", "\r\n", "1\n2", "\xff\xfe\x80", every, strings.Repeat(every, 100)} {
			if len(value) > tr.MaxValue {
				continue
			}
			created, updated := fmt.Sprintf("created.%d", i), fmt.Sprintf("updated.%d", i)
			tr.holds(created, value, tr.create(created, value))
			tr.holds(updated, value, tr.update(updated, tr.create(updated, "something else"), value))
		}
		at, err := tr.Store.Create(tr.ctx, tr.key("nil"), nil, ttl)
		succeeds("Create of a nil value", err)
		tr.holds("nil", "", at)
		at, err = tr.Store.Update(tr.ctx, tr.key("nil"), at, nil, ttl)
		succeeds("Update to a nil value", err)
		tr.holds("nil", "", at)
	},
}, {
	name:        "a value belongs to whoever holds it",
	explanation: "The store keeps no reference to a value it was given, and shares none that it returned.",
	check: func(tr *trial) {
		given := []byte("one")
		at, err := tr.Store.Create(tr.ctx, tr.key("record"), given, ttl)
		succeeds("Create", err)
		copy(given, "???")
		tr.holds("record", "one", at)
		given = []byte("two")
		at, err = tr.Store.Update(tr.ctx, tr.key("record"), at, given, ttl)
		succeeds("Update", err)
		copy(given, "???")
		tr.holds("record", "two", at)
		got, _, err := tr.Store.Get(tr.ctx, tr.key("record"))
		succeeds("Get", err)
		copy(got, "???")
		tr.holds("record", "two", at)
	},
}, {
	name:        "a value may be as long as the limit and no longer",
	explanation: "A value of MaxValue bytes is stored whole. One byte more is ErrTooLarge, and changes nothing.",
	check: func(tr *trial) {
		longest := strings.Repeat("0123456789abcde\x00", tr.MaxValue/16+1)[:tr.MaxValue]
		tooLong := []byte(longest + "x")
		tr.holds("created", longest, tr.create("created", longest))
		_, err := tr.Store.Create(tr.ctx, tr.key("another"), tooLong, ttl)
		want("Create with one byte too many", err, store.ErrTooLarge)
		if _, _, err = tr.Store.Get(tr.ctx, tr.key("another")); err == nil {
			fault.Failf("the record that was refused is there")
		}
		at := tr.create("updated", "short")
		_, err = tr.Store.Update(tr.ctx, tr.key("updated"), at, tooLong, ttl)
		want("Update with one byte too many", err, store.ErrTooLarge)
		tr.holds("updated", "short", at)
		tr.holds("updated", longest, tr.update("updated", at, longest))
	},
}}

var keyRules = []rule{{
	name:        "every name that is allowed is a record of its own",
	explanation: "Names differ in each character and in case. A name that begins like another, with or without a dot, is another.",
	check: func(tr *trial) {
		names := []string{
			"a", "A", "b", "a.b", "a.b.c", "a.c", "ab", "a-b", "a_b", "-", "_", "-.-", "0", "00", "a.0", "null", "NULL", "CON",
			"epoch", "Epoch", "revision", "_epoch", "ABCDEFGHIJKLMNOPQRSTUVWXYZ.abcdefghijklmnopqrstuvwxyz.0123456789-_",
			strings.Repeat("x", store.MaxName), strings.Repeat("x", store.MaxName-1), strings.Repeat("x", store.MaxName-1) + "X",
			strings.Repeat("x.", (store.MaxName-1)/2) + "x", tr.epoch,
		}
		revisions := map[string]store.Revision{}
		for _, name := range names {
			revisions[name] = tr.create(name, "value of "+name)
		}
		for _, name := range names {
			tr.holds(name, "value of "+name, revisions[name])
		}
	},
}, {
	name:        "an invalid key is misuse",
	explanation: "A key or a time to live outside the documented ranges is a *store.UsageError, and nothing is written.",
	check: func(tr *trial) {
		bad := []struct {
			key store.Key
			ttl time.Duration
		}{
			{tr.key(""), ttl}, {tr.key("."), ttl}, {tr.key(".a"), ttl}, {tr.key("a."), ttl}, {tr.key("a..b"), ttl},
			{tr.key("a b"), ttl}, {tr.key("a*"), ttl}, {tr.key("a.>"), ttl}, {tr.key("a/b"), ttl}, {tr.key("a\x00"), ttl},
			{tr.key("é"), ttl}, {tr.key(strings.Repeat("x", store.MaxName+1)), ttl},
			{store.Key{Epoch: "", Name: "a"}, ttl}, {store.Key{Epoch: "a.b", Name: "a"}, ttl},
			{store.Key{Epoch: strings.Repeat("x", 65), Name: "a"}, ttl},
			{tr.key("a"), 0}, {tr.key("a"), -time.Second}, {tr.key("a"), store.MinTTL - 1}, {tr.key("a"), store.MaxTTL + 1},
		}
		misuse := func(op string, key store.Key, ttl time.Duration, err error) {
			if !errors.As(err, new(*store.UsageError)) {
				fault.Failf("%s %+v for %v: %v, which is no *store.UsageError", op, key, ttl, err)
			}
		}
		for _, b := range bad {
			_, err := tr.Store.Create(tr.ctx, b.key, nil, b.ttl)
			misuse("Create", b.key, b.ttl, err)
			_, err = tr.Store.Update(tr.ctx, b.key, 1, nil, b.ttl)
			misuse("Update", b.key, b.ttl, err)
			if b.ttl != ttl {
				continue
			}
			_, _, err = tr.Store.Get(tr.ctx, b.key)
			misuse("Get", b.key, b.ttl, err)
			if w, ok := tr.Store.(store.Watcher); ok {
				misuse("Wait", b.key, b.ttl, w.Wait(tr.ctx, b.key, 1))
			}
		}
		tr.create("a", "a")
	},
}}
