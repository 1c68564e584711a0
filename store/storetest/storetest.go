// Package storetest judges a [store.Store], as testing/slogtest judges a
// slog.Handler. Every store of this project passes [Run], against its real server if
// it has one, and a store of your own should.
//
// A rule that is broken fails with its explanation.
//
// [Proxy] stands between a store and its server, so that a [Subject] can delay or lose
// the bytes between them.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/store"
)

// A Subject is a store to judge, empty, with the abilities that the suite may use. A rule
// that needs an ability which is nil is skipped and says so.
type Subject struct {
	// Store is judged.
	Store store.Store
	// MaxValue is the length of the longest value that Store takes.
	MaxValue int

	// Another returns a second handle to the same records, opened as another
	// process would. Nil for a store of one process, and for no other.
	Another func() store.Store
	// Wipe destroys the records behind the store's back, as an accident would,
	// and returns a handle to the store as it then is. It is the same handle if
	// a program can go on with it. Every store has it.
	Wipe func() store.Store
	// Small returns a handle to an empty store that has room for a few records
	// of 1 KiB and for less than a hundred. Nil if the store has no limit of
	// its own.
	Small func() store.Store
	// HoldRequests keeps requests from reaching the backend, and
	// HoldAnswers keeps the backend's answers from arriving. The held bytes
	// arrive late, when release is called.
	HoldRequests, HoldAnswers func() (release func())
	// Cut makes the backend unreachable for Store, for good: a closed handle,
	// or a closed connection.
	Cut func()

	// Rewind takes a copy of the records. Back puts it in their place, as somebody does who
	// restores a backup, and returns a handle to the store as it then is. Nil if the backend
	// has no way to, or tells by something else that no copy has.
	Rewind func() (back func() store.Store)
	// Ahead returns another handle, whose clock is ahead by so much. Nil for a store that goes
	// by one clock.
	Ahead func(by time.Duration) store.Store

	// Unshown says that a Create which is refused does not return the record that is there
	// in a [store.ExistsError].
	Unshown bool
	// Slack is how long after its time to live a record may still be there.
	Slack time.Duration
}

// Options adjusts [Run]. The zero value is right for a backend that is outside
// the process.
type Options struct {
	// Synctest runs each rule in a bubble of testing/synctest, for a store that
	// lives in the process and goes by its clock. Otherwise time is real: the
	// rules run in parallel, and those about expiry take seconds.
	Synctest bool
}

// Run judges the stores that open returns, a new one for each rule. What open
// starts, it stops in t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) *Subject, opts *Options) {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if opts.Synctest {
				synctest.Test(t, func(t *testing.T) { r.judge(t, open(t)) })
				return
			}
			t.Parallel()
			r.judge(t, open(t))
		})
	}
}

// A rule is one thing that stores promise.
type rule struct {
	name        string
	explanation string
	needs       ability
	check       func(*trial) // its faults are those of package fault
}

// An ability is one that a rule needs of its subject. The zero value is none.
type ability struct {
	name string
	of   func(*Subject) bool
}

var (
	ownLimit     = ability{"limit of its own (Small)", func(s *Subject) bool { return s.Small != nil }}
	heldRequests = ability{"way to hold requests up", func(s *Subject) bool { return s.HoldRequests != nil }}
	heldAnswers  = ability{"way to hold answers up", func(s *Subject) bool { return s.HoldAnswers != nil }}
	cutOff       = ability{"connection to cut", func(s *Subject) bool { return s.Cut != nil }}
	swept        = ability{"Sweep: it drops expired records by itself", func(s *Subject) bool { _, ok := s.Store.(store.Sweeper); return ok }}
	scheduled    = ability{"Schedule: it finds no record by a time", func(s *Subject) bool { _, ok := s.Store.(store.Scheduler); return ok }}
	marked       = ability{"Reached: it does not know how far it has come", func(s *Subject) bool { _, ok := s.Store.(store.Marker); return ok }}
	rewound      = ability{"backup to restore", func(s *Subject) bool { return s.Rewind != nil }}
	twoClocks    = ability{"clock beside its backend's", func(s *Subject) bool { return s.Ahead != nil }}
	secondHandle = ability{"second handle: its scope is the process", func(s *Subject) bool {
		return s.Another != nil || s.Store.Scope() != store.Process
	}}
)

var rules = slices.Concat(epochRules, incarnationRules, raceRules, valueRules, keyRules, expiryRules, clockRules, dueRules, limitRules, contextRules, silenceRules, waitRules)

// patience bounds a rule, so that a store that hangs fails instead.
const patience = 60 * time.Second

func (r *rule) judge(t *testing.T, subject *Subject) {
	t.Helper()
	err := r.verdict(t.Context(), subject)
	var lacking notAble
	switch {
	case errors.As(err, &lacking):
		t.Skip(lacking.Error())
	case err != nil:
		t.Errorf("%s\n\n%s: %v", r.explanation, r.name, err)
	}
}

// verdict returns the subject's fault, if it has one.
func (r *rule) verdict(ctx context.Context, subject *Subject) error {
	if r.needs.of != nil && !r.needs.of(subject) {
		return notAble(r.needs.name)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if subject.Wipe == nil || subject.MaxValue < 1<<10 {
		return errors.New("the Subject is incomplete: it needs Wipe, and MaxValue of 1 KiB or more")
	}
	epoch, err := subject.Store.Epoch(ctx)
	if err != nil {
		return fmt.Errorf("Epoch: %w", err)
	}
	return fault.Caught(func() { r.check(&trial{Subject: subject, ctx: ctx, epoch: epoch}) })
}

// KeyOf is the key of a record in the store's present epoch.
func KeyOf(t testing.TB, s store.Store, name string) store.Key {
	t.Helper()
	epoch, err := s.Epoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return store.Key{Epoch: epoch, Name: name}
}

// Lose requires that a store which has lost its epoch, alone or with its records, knows it:
// writes under the old one are refused, reads under it find nothing, and none of its
// records is seen under the next.
func Lose(t testing.TB, s store.Store, lose func()) {
	t.Helper()
	tr := &trial{Subject: &Subject{Store: s}, ctx: t.Context()}
	err := fault.Caught(func() {
		tr.epoch = KeyOf(t, s, "any").Epoch
		old, at := tr.key("record"), tr.create("record", "one")
		lose()
		tr.forgotten("before anybody asked for the epoch", s, old, at)
		if tr.epoch = KeyOf(t, s, "any").Epoch; tr.epoch == old.Epoch {
			fault.Failf("the epoch is %q as it was before", tr.epoch)
		}
		tr.holds("record", "anew", tr.create("record", "anew"))
		tr.forgotten("in the next epoch", s, old, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

type notAble string

func (e notAble) Error() string { return "the subject has no " + string(e) }

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
