package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

const (
	// soonEnough is the deadline of an operation that gets no answer.
	soonEnough = 300 * time.Millisecond
	// tooLate is how much longer it may take to notice.
	tooLate = 30 * time.Second
)

var silenceRules = []rule{{
	name:        "requests that are held up",
	explanation: "While the backend does not hear it, an operation returns soon after its deadline, with an error that is no verdict. The write may come late, and is then whole.",
	needs:       heldRequests,
	check:       func(tr *trial) error { return tr.silence(tr.HoldRequests) },
}, {
	name:        "answers that are held up",
	explanation: "While it does not hear the backend, an operation returns soon after its deadline, with an error that is no verdict, though the write was done.",
	needs:       heldAnswers,
	check:       func(tr *trial) error { return tr.silence(tr.HoldAnswers) },
}, {
	name:        "a store that cannot be reached knows nothing",
	explanation: "A store that is closed or cut off fails soon, with an error that is no verdict: it must not say that a record exists, does not exist or was forgotten.",
	needs:       cutOff,
	check: func(tr *trial) error {
		at, err := tr.create("record", "one")
		if err != nil {
			return err
		}
		tr.Cut()
		return tr.unheard(at)
	},
}}

// silence holds something up, and settles the unsettled writes when it is over.
func (tr *trial) silence(hold func() (release func())) error {
	at, err := tr.create("record", "one")
	if err != nil {
		return err
	}
	release := hold()
	err = tr.unheard(at)
	release()
	if err != nil {
		return err
	}
	// Now everything that was held up arrives, in some order with the writes that the
	// caller does to settle it.
	key := tr.key("other")
	if err := tr.settled(func() error {
		_, err := tr.Store.Create(tr.ctx, key, []byte("new"), ttl)
		if errors.Is(err, store.ErrExists) {
			return nil
		}
		return err
	}); err != nil {
		return fmt.Errorf("Create when the silence is over: %w", err)
	}
	if err := tr.settled(func() error {
		_, err := tr.Store.Update(tr.ctx, tr.key("record"), at, []byte("new"), ttl)
		if errors.Is(err, store.ErrConflict) {
			return nil
		}
		return err
	}); err != nil {
		return fmt.Errorf("Update when the silence is over: %w", err)
	}
	for _, name := range []string{"record", "other"} {
		if err := tr.soon(func() error {
			value, now, err := tr.Store.Get(tr.ctx, tr.key(name))
			if err == nil && (string(value) != "new" || name == "record" && now <= at) {
				err = fmt.Errorf("%s holds %s at revision %d", name, shown(value), now)
			}
			return err
		}); err != nil {
			return fmt.Errorf("when the silence is over: %w", err)
		}
	}
	return nil
}

// settled repeats an operation while the connection recovers.
func (tr *trial) settled(op func() error) error {
	deadline := time.Now().Add(tooLate)
	for {
		err := op()
		if err == nil || store.IsVerdict(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// unheard checks the error of each operation that gets no answer.
func (tr *trial) unheard(at store.Revision) error {
	ops := []struct {
		name string
		call func(ctx context.Context) error
	}{
		{"Create", func(ctx context.Context) error {
			_, err := tr.Store.Create(ctx, tr.key("other"), []byte("new"), ttl)
			return err
		}},
		{"Update", func(ctx context.Context) error {
			_, err := tr.Store.Update(ctx, tr.key("record"), at, []byte("new"), ttl)
			return err
		}},
		{"Get", func(ctx context.Context) error {
			_, _, err := tr.Store.Get(ctx, tr.key("nothing"))
			return err
		}},
		{"Epoch", func(ctx context.Context) error {
			_, err := tr.Store.Epoch(ctx)
			return err
		}},
		{"Wait", func(ctx context.Context) error {
			return store.Wait(ctx, tr.Store, tr.key("record"), at+1<<40)
		}},
	}
	return each(len(ops), func(i int) error {
		op := ops[i]
		ctx, cancel := context.WithTimeout(tr.ctx, soonEnough)
		defer cancel()
		began := time.Now()
		err := op.call(ctx)
		if took := time.Since(began); took > soonEnough+tooLate {
			return fmt.Errorf("%s returned after %v, with a deadline of %v", op.name, took, soonEnough)
		}
		return wantUnsettled(op.name, err)
	})
}

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
