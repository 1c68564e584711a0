package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// trial is one rule at work on one subject.
type trial struct {
	*Subject
	ctx   context.Context
	epoch string
}

// ttl outlasts every rule.
const ttl = 10 * time.Minute

func (tr *trial) key(name string) store.Key { return store.Key{Epoch: tr.epoch, Name: name} }

// create makes a record that a rule starts from.
func (tr *trial) create(name, value string) (store.Revision, error) {
	at, err := tr.Store.Create(tr.ctx, tr.key(name), []byte(value), ttl)
	if err == nil && at == 0 {
		err = errors.New("it returned revision 0")
	}
	if err != nil {
		return 0, fmt.Errorf("Create %s: %w", name, err)
	}
	return at, nil
}

// holds checks that Get sees the record, at once or a moment later.
func (tr *trial) holds(s store.Store, key store.Key, value []byte, at store.Revision) error {
	return tr.soon(func() error {
		got, now, err := s.Get(tr.ctx, key)
		switch {
		case err != nil:
			return fmt.Errorf("Get %s: %w", key.Name, err)
		case now != at:
			return fmt.Errorf("Get %s: it is at revision %d, not at %d", key.Name, now, at)
		case !bytes.Equal(got, value):
			return fmt.Errorf("Get %s: %s, not %s", key.Name, shown(got), shown(value))
		}
		return nil
	})
}

// lag bounds how far a Get may be behind.
const lag = 30 * time.Second

// soon repeats look until it returns nil, as Get may lag.
func (tr *trial) soon(look func() error) error {
	deadline := time.Now().Add(lag)
	for {
		err := look()
		if err == nil || time.Now().After(deadline) || tr.ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// want checks that err is one of the given errors.
func want(op string, err error, any ...error) error {
	names := make([]string, len(any))
	for i, wanted := range any {
		if errors.Is(err, wanted) {
			return nil
		}
		names[i] = fmt.Sprintf("%q", wanted)
	}
	if err == nil {
		return fmt.Errorf("%s: it succeeded, instead of %s", op, strings.Join(names, " or "))
	}
	return fmt.Errorf("%s: %w, instead of %s", op, err, strings.Join(names, " or "))
}

// wantUnsettled checks that err is an error and no verdict.
func wantUnsettled(op string, err error) error {
	if err == nil {
		return fmt.Errorf("%s: it succeeded", op)
	}
	if store.IsVerdict(err) {
		return fmt.Errorf("%s: it says %q, which nobody can know", op, err)
	}
	return nil
}

// each runs n calls at once and returns their errors joined.
func each(n int, call func(i int) error) error {
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(errs...)
}

// shown abbreviates a value for a message.
func shown(value []byte) string {
	if len(value) > 60 {
		return fmt.Sprintf("%d bytes %q…", len(value), value[:60])
	}
	return fmt.Sprintf("%q", value)
}
