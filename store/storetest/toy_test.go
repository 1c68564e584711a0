package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
)

// toy is a store, as simple as can be, that passes every rule unless it has a
// defect. An operation takes a moment on its way there and a moment on its way
// back, as with a backend that is elsewhere.
type toy struct {
	*shelf
	defect string
	small  bool
	ahead  time.Duration          // its clock
	mine   map[chan struct{}]bool // who waits through this handle
}

// shelf holds the records that the handles of a toy share.
type shelf struct {
	mu                sync.Mutex
	epoch             string
	records           map[string]*toyRecord
	last              store.Revision
	waiting           map[chan struct{}]bool
	requests, answers gate
	cut               bool
	asked             bool // somebody asked for the epoch
}

const (
	toyMoment   = time.Millisecond
	toyMaxValue = 3000
	toyRoom     = 8 << 10
)

var errToyCut = errors.New("toy: no connection")

func newToy(defect string) *toy {
	return &toy{shelf: &shelf{epoch: rand.Text(), records: map[string]*toyRecord{}, waiting: map[chan struct{}]bool{}},
		defect: defect, mine: map[chan struct{}]bool{}}
}

func (s *toy) is(defect string) bool { return s.defect == defect }

// subject gives the suite a toy and its abilities.
func (s *toy) subject() *Subject {
	return &Subject{
		Store:    s,
		MaxValue: toyMaxValue,
		Another: func() store.Store {
			if s.is("a handle has records of its own") {
				own := newToy(s.defect)
				own.epoch = s.epoch
				return own
			}
			return s.another()
		},
		Ahead: func(by time.Duration) store.Store {
			wrong := s.another()
			wrong.ahead = by
			return wrong
		},
		Rewind: func() func() store.Store {
			s.mu.Lock()
			defer s.mu.Unlock()
			then, records := s.last, map[string]*toyRecord{}
			for name, r := range s.records {
				copied := *r
				records[name] = &copied
			}
			return func() store.Store {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.records, s.last = records, then
				if !s.is("a backup goes on") {
					s.next()
				}
				return s
			}
		},
		Wipe: func() store.Store {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.records, s.asked = map[string]*toyRecord{}, false
			if !s.is("the epoch outlives the records") {
				s.epoch = rand.Text()
			}
			return s
		},
		Small: func() store.Store {
			small := newToy(s.defect)
			small.small = true
			return small
		},
		HoldRequests: s.requests.shut,
		HoldAnswers:  s.answers.shut,
		Cut: func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.cut = true
		},
	}
}

func (s *toy) another() *toy {
	return &toy{shelf: s.shelf, defect: s.defect, mine: map[chan struct{}]bool{}}
}

// next begins the next epoch of the same contents.
func (s *toy) next() { s.epoch = store.EpochOf(store.Contents(s.epoch), rand.Text()[:8]) }

func (s *toy) Reached(epoch string) store.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.is("it has come nowhere"), epoch != s.epoch && !s.is("it has come as far in every epoch"):
		return 0
	}
	return s.last
}

func (s *toy) Scope() store.Scope {
	if s.is("a scope that nobody knows") {
		return 7
	}
	return store.Machine
}

// operate carries do there and its verdict back.
func (s *toy) operate(ctx context.Context, do func() error) error {
	if s.is("ended contexts are ignored") {
		ctx = context.WithoutCancel(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	cut := s.cut
	s.mu.Unlock()
	switch {
	case cut && s.is("no connection means no record"):
		return store.ErrNotFound
	case cut && s.is("no connection means another store"):
		return store.ErrForgotten
	case cut:
		return errToyCut
	}
	verdict := make(chan error, 1)
	go func() {
		time.Sleep(toyMoment)
		s.requests.pass()
		if ctx.Err() != nil && s.requestDropped() {
			verdict <- ctx.Err()
			return
		}
		s.mu.Lock()
		err := do()
		s.mu.Unlock()
		time.Sleep(toyMoment)
		s.answers.pass()
		verdict <- err
	}()
	if s.is("deadlines are ignored") {
		select {
		case err := <-verdict:
			return err
		case <-time.After(time.Minute):
			return ctx.Err()
		}
	}
	select {
	case err := <-verdict:
		return err
	case <-ctx.Done():
		switch {
		case s.is("a deadline means that it exists"):
			return store.ErrExists
		case s.is("a deadline means that there is none"):
			return store.ErrNotFound
		}
		return ctx.Err()
	}
}

// requestDropped says whether a request whose sender has given up is lost on
// the way. Otherwise it comes late.
func (s *toy) requestDropped() bool {
	return !s.is("half a value is written when the context ends") && !s.is("a revision is used twice when the context ends")
}

func (s *toy) Epoch(ctx context.Context) (string, error) {
	var epoch string
	err := s.operate(ctx, func() error {
		s.asked = true
		epoch = s.epoch
		if s.is("an epoch for each who asks") {
			epoch = rand.Text()
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return epoch, nil
}

// strange says whether a key is of another epoch.
func (s *toy) strange(key store.Key) bool {
	switch {
	case s.is("the epoch is not checked"):
		return false
	case s.is("the epoch is checked once somebody asked") && !s.asked:
		return false
	}
	return key.Epoch != s.epoch
}

func (s *toy) check(key store.Key, value []byte, ttl time.Duration) error {
	longest := toyMaxValue
	switch {
	case s.is("any length is taken"), s.is("a value is cut to the limit"):
		longest = 1 << 30
	case s.is("the limit is one byte short"):
		longest--
	}
	err := store.CheckWrite(key, value, longest, ttl)
	var usage *store.UsageError
	if errors.As(err, &usage) && s.is("any key is taken") {
		return nil
	}
	return err
}

func (s *toy) name(key store.Key) string {
	switch {
	case s.is("names are folded"):
		return strings.ToLower(key.Name)
	case s.is("names are cut"):
		return key.Name[:min(len(key.Name), 64)]
	}
	return key.Name
}

// Each defect is noticed by the rules that stand beside it, at least.
var defects = map[string][]string{
	"a scope that nobody knows":                      {"the scope is one of three"},
	"an epoch for each who asks":                     {"everybody sees one epoch"},
	"the epoch outlives the records":                 {"a wiped store refuses"},
	"the epoch is not checked":                       {"a wiped store refuses", "another store's key is refused"},
	"the epoch is checked once somebody asked":       {"a wiped store refuses"},
	"a read ignores the epoch":                       {"another store's key is refused"},
	"it is believed that it has not gone back":       {"a store that has gone back ends its epoch"},
	"a backup goes on":                               {"a backup that is restored ends the epoch"},
	"it has come nowhere":                            {"a handle knows how far the store has come"},
	"it has come as far in every epoch":              {"a handle knows how far the store has come"},
	"the caller's clock is enough":                   {"one clock that is wrong ends no record"},
	"a record lives from the caller's clock":         {"one clock that is wrong ends no record"},
	"the last is due first":                          {"a record is found when it is due"},
	"all that is due is named":                       {"a record is found when it is due"},
	"a record is due at its time":                    {"a record is found when it is due"},
	"an update stays due":                            {"an update takes a record off its schedule"},
	"schedule creates only":                          {"an update takes a record off its schedule"},
	"an expired record is due":                       {"an expired record is not due"},
	"create replaces":                                {"one creator wins", "one creator wins after an expiry", "a stale revision conflicts", "handles share the records"},
	"a refused create says nothing":                  {"a refused create shows the record"},
	"a refused create shows another record":          {"a refused create shows the record"},
	"a refused create shows an old revision":         {"a refused create shows the record"},
	"a refused create hands out its own value":       {"a refused create shows the record"},
	"update ignores the revision":                    {"one updater wins", "no update is lost", "a stale revision conflicts", "revisions never repeat after an expiry", "handles share the records"},
	"update creates":                                 {"a stale revision conflicts", "a record lives its time"},
	"revisions count a record's writes":              {"revisions never repeat", "revisions never repeat after an expiry", "an interrupted write is done or not done"},
	"a handle has records of its own":                {"handles share the records", "one creator wins"},
	"values are text":                                {"values come back as they were"},
	"values end at a zero":                           {"values come back as they were"},
	"an empty value is none":                         {"values come back as they were"},
	"the caller's value is kept":                     {"a value belongs to whoever holds it"},
	"its own value is handed out":                    {"a value belongs to whoever holds it"},
	"any length is taken":                            {"a value may be as long as the limit and no longer"},
	"a value is cut to the limit":                    {"a value may be as long as the limit and no longer"},
	"the limit is one byte short":                    {"a value may be as long as the limit and no longer"},
	"names are folded":                               {"every name that is allowed is a record of its own"},
	"names are cut":                                  {"every name that is allowed is a record of its own"},
	"any key is taken":                               {"an invalid key is misuse"},
	"records go early":                               {"a record lives its time"},
	"nothing expires":                                {"a record lives its time", "one creator wins after an expiry", "revisions never repeat after an expiry", "an update renews the time"},
	"an update does not renew":                       {"an update renews the time"},
	"the oldest is dropped":                          {"a full store refuses and drops nothing"},
	"there is always room":                           {"a full store refuses and drops nothing"},
	"an update needs room of its own":                {"a full store refuses and drops nothing"},
	"the expired take up room":                       {"expired records make room"},
	"ended contexts are ignored":                     {"an ended context does nothing"},
	"half a value is written when the context ends":  {"an interrupted write is done or not done"},
	"a revision is used twice when the context ends": {"an interrupted write is done or not done"},
	"a deadline means that it exists":                {"an interrupted write is done or not done", "requests that are held up", "answers that are held up"},
	"a deadline means that there is none":            {"an interrupted write is done or not done", "requests that are held up", "answers that are held up"},
	"deadlines are ignored":                          {"requests that are held up", "answers that are held up"},
	"no connection means no record":                  {"a store that cannot be reached knows nothing"},
	"no connection means another store":              {"a store that cannot be reached knows nothing"},
	"wait never returns":                             {"a waiter wakes when the record changes", "no change is missed", "a waiter that is late returns at once", "many wait for one", "a waiter wakes when the record expires"},
	"wait does not look first":                       {"a waiter that is late returns at once"},
	"wait returns at once":                           {"a waiter does not spin"},
	"only the writer's handle wakes":                 {"a waiter wakes when the record changes"},
	"one waiter wakes":                               {"many wait for one"},
	"a sweep removes everything":                     {"a sweep removes what has expired"},
	"a sweep removes nothing":                        {"a sweep removes what has expired"},
	"an expiry wakes nobody":                         {"a waiter wakes when the record expires"},
}

func TestEveryRuleNotices(t *testing.T) {
	byName := map[string]*rule{}
	for i := range rules {
		byName[rules[i].name] = &rules[i]
	}
	noticed := map[string]bool{}
	for defect, names := range defects {
		t.Run(defect, func(t *testing.T) {
			for _, name := range names {
				require.Contains(t, byName, name)
				synctest.Test(t, func(t *testing.T) {
					err := byName[name].verdict(t.Context(), newToy(defect).subject())
					require.Errorf(t, err, "the rule %q did not notice", name)
					require.False(t, errors.As(err, new(notAble)), err)
					t.Logf("%s: %v", name, err)
				})
				noticed[name] = true
			}
		})
	}
	for name, r := range byName {
		require.True(t, noticed[name], "no defect shows that the rule %q notices anything", name)
		require.NotEmpty(t, r.explanation)
	}
	require.Len(t, byName, len(rules), "two rules have one name")
}

func TestASoundStorePasses(t *testing.T) {
	Run(t, func(*testing.T) *Subject { return newToy("").subject() }, &Options{Synctest: true})
}

// A store may come without most of the abilities, and the rules say so. The
// ones that matter most cannot be avoided.
func TestAbilitiesThatAreMissing(t *testing.T) {
	lacking := 0
	for _, r := range rules {
		synctest.Test(t, func(t *testing.T) {
			whole := newToy("").subject()
			err := r.verdict(t.Context(), &Subject{Store: whole.Store, MaxValue: whole.MaxValue, Wipe: whole.Wipe})
			switch {
			case errors.As(err, new(notAble)):
				lacking++
			case r.name == "handles share the records":
				require.ErrorContains(t, err, "has no Another", "a store that says it is shared has to show it")
			default:
				require.NoError(t, err)
			}
		})
	}
	require.Equal(t, 7, lacking)
	incomplete := newToy("").subject()
	incomplete.Wipe = nil
	require.ErrorContains(t, rules[0].verdict(t.Context(), incomplete), "incomplete")
}
