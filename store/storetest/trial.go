package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

// trial is one rule at work on one subject. The functions of this file end the rule when
// they find a fault, unless they return it.
type trial struct {
	*Subject
	ctx   context.Context
	epoch string
}

// succeeds ends the rule if an operation that has to succeed did not.
func succeeds(op string, err error) {
	if err != nil {
		fault.Failf("%s: %w", op, err)
	}
}

// ttl outlasts every rule.
const ttl = 10 * time.Minute

func (tr *trial) key(name string) store.Key { return store.Key{Epoch: tr.epoch, Name: name} }

// create makes a record that a rule starts from.
func (tr *trial) create(name, value string) store.Revision { return tr.createFor(ttl, name, value) }

func (tr *trial) createFor(life time.Duration, name, value string) store.Revision {
	at, err := tr.Store.Create(tr.ctx, tr.key(name), []byte(value), life)
	succeeds("Create "+name, err)
	if at == 0 {
		fault.Failf("Create %s: it returned revision 0", name)
	}
	return at
}

func (tr *trial) update(name string, at store.Revision, value string) store.Revision {
	return tr.updateFor(ttl, name, at, value)
}

func (tr *trial) updateFor(life time.Duration, name string, at store.Revision, value string) store.Revision {
	now, err := tr.Store.Update(tr.ctx, tr.key(name), at, []byte(value), life)
	succeeds("Update "+name, err)
	return now
}

// holds checks that the store has the record.
func (tr *trial) holds(name, value string, at store.Revision) {
	tr.sees(tr.Store, tr.key(name), value, at)
}

// sees checks that Get finds the record, at once or a moment later.
func (tr *trial) sees(s store.Store, key store.Key, value string, at store.Revision) {
	succeeds("Get "+key.Name, tr.soon(func() error {
		got, now, err := s.Get(tr.ctx, key)
		switch {
		case err != nil:
			return err
		case now != at:
			return fmt.Errorf("it is at revision %d, not at %d", now, at)
		case !bytes.Equal(got, []byte(value)):
			return fmt.Errorf("%s, not %s", shown(got), shown([]byte(value)))
		}
		return nil
	}))
}

// lag bounds how far a Get may be behind.
const lag = 30 * time.Second

// soon repeats look until it returns nil, as Get may lag. It returns the last error.
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
func want(op string, err error, any ...error) {
	names := make([]string, len(any))
	for i, wanted := range any {
		if errors.Is(err, wanted) {
			return
		}
		names[i] = fmt.Sprintf("%q", wanted)
	}
	if err == nil {
		fault.Failf("%s: it succeeded, instead of %s", op, strings.Join(names, " or "))
	}
	fault.Failf("%s: %w, instead of %s", op, err, strings.Join(names, " or "))
}

// wantUnsettled checks that err is an error and no verdict.
func wantUnsettled(op string, err error) {
	if err == nil {
		fault.Failf("%s: it succeeded", op)
	}
	if store.IsVerdict(err) {
		fault.Failf("%s: it says %q, which nobody can know", op, err)
	}
}

// each runs n calls at once, and ends the rule if one of them does.
func each(n int, call func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = fault.Caught(func() { call(i) })
		})
	}
	close(start)
	wg.Wait()
	fault.Check(errors.Join(errs...))
}

// shown abbreviates a value for a message.
func shown(value []byte) string {
	if len(value) > 60 {
		return fmt.Sprintf("%d bytes %q…", len(value), value[:60])
	}
	return fmt.Sprintf("%q", value)
}
