// Package storetest judges a [store.Store], as testing/slogtest judges a
// slog.Handler. Every store of this project passes [Run], against the real
// server where there is one, and a store of your own should.
//
// A rule that is broken fails with its explanation.
//
// [Proxy] stands between a store and its server, so that a [Subject] can delay or lose
// the bytes between them. [Ratio] is a benchmark: the time of a store's writes against
// the same writes made without it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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
	// lacks names the ability that the rule needs and the subject has not.
	lacks func(*Subject) string
	check func(*trial) error
}

var rules = concat(epochRules, raceRules, valueRules, keyRules, expiryRules, limitRules, contextRules, silenceRules, waitRules)

func concat(groups ...[]rule) []rule {
	var all []rule
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

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
	if r.lacks != nil {
		if what := r.lacks(subject); what != "" {
			return notAble(what)
		}
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
	return r.check(&trial{Subject: subject, ctx: ctx, epoch: epoch})
}

type notAble string

func (e notAble) Error() string { return "the subject has no " + string(e) }
