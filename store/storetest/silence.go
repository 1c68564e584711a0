package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mrtr-go/sdk/store"
)

const (
	// soonEnough is the deadline of an operation that gets no answer.
	soonEnough = 300 * time.Millisecond
	// tooLate is how much longer it may take to notice.
	tooLate = 3 * time.Second
)

var silenceRules = []rule{{
	name:        "requests that are held up",
	explanation: "While the backend does not hear it, an operation returns soon after its deadline, with an error that is no verdict. The write may come late, and is then whole.",
	lacks: func(s *Subject) string {
		if s.HoldRequests == nil {
			return "way to hold requests up"
		}
		return ""
	},
	check: func(tr *trial) error { return tr.silence(tr.HoldRequests) },
}, {
	name:        "answers that are held up",
	explanation: "While it does not hear the backend, an operation returns soon after its deadline, with an error that is no verdict, though the write was done.",
	lacks: func(s *Subject) string {
		if s.HoldAnswers == nil {
			return "way to hold answers up"
		}
		return ""
	},
	check: func(tr *trial) error { return tr.silence(tr.HoldAnswers) },
}, {
	name:        "a store that cannot be reached knows nothing",
	explanation: "A store that is closed or cut off fails soon, with an error that is no verdict: it must not say that a record exists, does not exist or was forgotten.",
	lacks: func(s *Subject) string {
		if s.Cut == nil {
			return "connection to cut"
		}
		return ""
	},
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
	deadline := time.Now().Add(20 * time.Second)
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
