package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

const (
	// soonEnough is the deadline of an operation that gets no answer.
	soonEnough = 300 * time.Millisecond
	// tooLate is how much longer it may take to notice.
	tooLate = 30 * time.Second
	// oneAttempt bounds an operation that is repeated.
	oneAttempt = 2 * time.Second
)

var silenceRules = []rule{{
	name:        "requests that are held up",
	explanation: "While the backend does not hear it, an operation returns soon after its deadline, with an error that is no verdict. The write may come late, and is then whole.",
	needs:       heldRequests,
	check:       func(tr *trial) { tr.silence(tr.HoldRequests) },
}, {
	name:        "answers that are held up",
	explanation: "While it does not hear the backend, an operation returns soon after its deadline, with an error that is no verdict, though the write was done.",
	needs:       heldAnswers,
	check:       func(tr *trial) { tr.silence(tr.HoldAnswers) },
}, {
	name:        "a store that cannot be reached knows nothing",
	explanation: "A store that is closed or cut off fails soon, with an error that is no verdict: it must not say that a record exists, does not exist or was forgotten.",
	needs:       cutOff,
	check: func(tr *trial) {
		at := tr.create("record", "one")
		tr.Cut()
		tr.unheard(at)
	},
}}

// silence holds something up, and settles the unsettled writes when it is over.
func (tr *trial) silence(hold func() (release func())) {
	at := tr.create("record", "one")
	release := hold()
	err := fault.Caught(func() { tr.unheard(at) })
	release()
	succeeds("meanwhile", err)
	// Now everything that was held up arrives, in some order with the writes that the
	// caller does to settle it.
	if err := tr.settled(func(ctx context.Context) error {
		_, err := tr.Store.Create(ctx, tr.key("other"), []byte("new"), ttl)
		return err
	}); !errors.Is(err, store.ErrExists) {
		succeeds("Create when the silence is over", err)
	}
	if err := tr.settled(func(ctx context.Context) error {
		_, err := tr.Store.Update(ctx, tr.key("record"), at, []byte("new"), ttl)
		return err
	}); !errors.Is(err, store.ErrConflict) {
		succeeds("Update when the silence is over", err)
	}
	for _, name := range []string{"record", "other"} {
		succeeds("Get when the silence is over", tr.soon(func() error {
			value, now, err := tr.Store.Get(tr.ctx, tr.key(name))
			if err == nil && (string(value) != "new" || name == "record" && now <= at) {
				err = fmt.Errorf("%s holds %s at revision %d", name, shown(value), now)
			}
			return err
		}))
	}
}

// settled repeats an operation until it has an answer: while a connection recovers or
// something is being deleted, a backend may leave attempts without one.
func (tr *trial) settled(op func(ctx context.Context) error) error {
	deadline := time.Now().Add(tooLate)
	for {
		ctx, cancel := context.WithTimeout(tr.ctx, oneAttempt)
		err := op(ctx)
		cancel()
		if err == nil || store.IsVerdict(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// anOperation is one of a store's, on records that a rule has made.
type anOperation struct {
	name string
	call func(ctx context.Context) error
}

// operations are all of a store's, one of them on the record at a revision.
func (tr *trial) operations(at store.Revision) []anOperation {
	return []anOperation{
		{"Epoch", func(ctx context.Context) error { _, err := tr.Store.Epoch(ctx); return err }},
		{"Create", func(ctx context.Context) error {
			_, err := tr.Store.Create(ctx, tr.key("other"), []byte("new"), ttl)
			return err
		}},
		{"Update", func(ctx context.Context) error {
			_, err := tr.Store.Update(ctx, tr.key("record"), at, []byte("new"), ttl)
			return err
		}},
		{"Get", func(ctx context.Context) error { _, _, err := tr.Store.Get(ctx, tr.key("nothing")); return err }},
		{"Wait", func(ctx context.Context) error { return store.Wait(ctx, tr.Store, tr.key("record"), at+1<<40) }},
	}
}

// unheard checks the error of each operation that gets no answer.
func (tr *trial) unheard(at store.Revision) {
	ops := tr.operations(at)
	each(len(ops), func(i int) {
		ctx, cancel := context.WithTimeout(tr.ctx, soonEnough)
		defer cancel()
		began := time.Now()
		err := ops[i].call(ctx)
		if took := time.Since(began); took > soonEnough+tooLate {
			fault.Failf("%s returned after %v, with a deadline of %v", ops[i].name, took, soonEnough)
		}
		wantUnsettled(ops[i].name, err)
	})
}

var contextRules = []rule{{
	name:        "an ended context does nothing",
	explanation: "An operation whose context has ended returns the context's error, and nothing is written.",
	check: func(tr *trial) {
		at := tr.create("record", "one")
		ended, cancel := context.WithCancel(tr.ctx)
		cancel()
		for _, op := range tr.operations(at) {
			want(op.name, op.call(ended), context.Canceled)
		}
		tr.create("other", "two")
		tr.holds("record", "one", at)
	},
}, {
	name:        "an interrupted write is done or not done",
	explanation: "A write whose context ends in the middle leaves the old record or the new one whole, at a revision that nobody else has.",
	check:       interruptWrites,
}}

// interruptWrites ends contexts at many moments of a write. The writer then writes again
// and, if that is refused, looks: its own record may be there, or come late.
func interruptWrites(tr *trial) {
	const attempts = 60
	var mu sync.Mutex
	revisions := map[store.Revision]string{}
	note := func(what string, at store.Revision) {
		mu.Lock()
		defer mu.Unlock()
		if other, twice := revisions[at]; twice && other != what {
			fault.Failf("%s and %s both have revision %d", other, what, at)
		}
		revisions[at] = what
	}
	each(attempts, func(i int) {
		name := fmt.Sprintf("record.%d", i)
		key, first, second := tr.key(name), fmt.Sprintf("first %d", i), fmt.Sprintf("second %d", i)
		// written is the revision of a write, which lost refuses where it was done before.
		written := func(op string, within time.Duration, lost error, after store.Revision, write func(context.Context) (store.Revision, error)) store.Revision {
			ctx, cancel := context.WithTimeout(tr.ctx, within)
			at, err := write(ctx)
			cancel()
			if err != nil {
				wantUnsettled("an interrupted "+op+" that nobody contends", err)
				if at, err = write(tr.ctx); errors.Is(err, lost) {
					err = tr.soon(func() (err error) {
						if _, at, err = tr.Store.Get(tr.ctx, key); err == nil && at <= after {
							err = errors.New("a retry is refused, and yet the interrupted write was not done")
						}
						return err
					})
				}
				succeeds("settling "+op, err)
			}
			if at <= after {
				fault.Failf("the %s has revision %d, after %d", op, at, after)
			}
			return at
		}
		at := written("Create", time.Duration(i)*50*time.Microsecond, store.ErrExists, 0, func(ctx context.Context) (store.Revision, error) {
			return tr.Store.Create(ctx, key, []byte(first), ttl)
		})
		note(first, at)
		tr.holds(name, first, at)
		now := written("Update", time.Duration(attempts-i)*50*time.Microsecond, store.ErrConflict, at, func(ctx context.Context) (store.Revision, error) {
			return tr.Store.Update(ctx, key, at, []byte(second), ttl)
		})
		note(second, now)
		tr.holds(name, second, now)
	})
}
