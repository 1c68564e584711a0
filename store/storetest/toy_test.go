package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// toy is a store, as simple as can be, that passes every rule unless it has a
// defect. An operation takes a moment on its way there and a moment on its way
// back, as with a backend that is elsewhere.
type toy struct {
	*shelf
	defect string
	small  bool
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

type toyRecord struct {
	value    []byte
	revision store.Revision
	expires  time.Time
	since    int
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
			return &toy{shelf: s.shelf, defect: s.defect, mine: map[chan struct{}]bool{}}
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
		case <-time.After(30 * time.Second):
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

func (s *toy) live(name string) *toyRecord {
	r := s.records[name]
	if r == nil || !time.Now().Before(r.expires) && !s.is("nothing expires") {
		return nil
	}
	return r
}

func (s *toy) fits(more int) bool {
	if !s.small {
		return true
	}
	size := more
	for name, r := range s.records {
		if s.live(name) != nil || s.is("the expired take up room") {
			size += len(r.value)
		}
	}
	return size <= toyRoom
}

func (s *toy) put(ctx context.Context, name string, value []byte, ttl time.Duration) store.Revision {
	r := s.records[name]
	if r == nil {
		r = &toyRecord{since: len(s.records)}
		s.records[name] = r
	}
	if !s.is("a revision is used twice when the context ends") || ctx.Err() == nil {
		s.last++
	}
	r.revision++
	if !s.is("revisions count a record's writes") {
		r.revision = s.last
	}
	switch {
	case s.is("a value is cut to the limit"):
		value = value[:min(len(value), toyMaxValue)]
	case s.is("values are text"):
		value = bytes.ToValidUTF8(value, []byte("?"))
	case s.is("values end at a zero"):
		value, _, _ = bytes.Cut(value, []byte{0})
	case s.is("half a value is written when the context ends") && ctx.Err() != nil:
		value = value[:len(value)/2]
	}
	if r.value = value; !s.is("the caller's value is kept") {
		r.value = bytes.Clone(value)
	}
	switch {
	case s.is("records go early"):
		ttl /= 2
	case s.is("an update does not renew") && !r.expires.IsZero():
		ttl = time.Until(r.expires)
	}
	r.expires = time.Now().Add(ttl)
	s.wake()
	return r.revision
}

func (s *toy) wake() {
	waiting := s.waiting
	if s.is("only the writer's handle wakes") {
		waiting = s.mine
	}
	for ch := range waiting {
		close(ch)
		delete(s.waiting, ch)
		delete(s.mine, ch)
		if s.is("one waiter wakes") {
			return
		}
	}
}

func (s *toy) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.check(key, value, ttl); err != nil {
		return 0, err
	}
	if !s.is("the caller's value is kept") {
		value = bytes.Clone(value)
	}
	var at store.Revision
	err := s.operate(ctx, func() error {
		name := s.name(key)
		switch {
		case s.strange(key):
			return store.ErrForgotten
		case s.live(name) != nil && !s.is("create replaces"):
			return store.ErrExists
		case !s.fits(len(value)) && s.is("the oldest is dropped"):
			s.dropOldest()
		case !s.fits(len(value)) && !s.is("there is always room"):
			return store.ErrFull
		}
		if s.live(name) == nil {
			delete(s.records, name)
		}
		at = s.put(ctx, name, value, ttl)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return at, nil
}

func (s *toy) dropOldest() {
	var oldest string
	for name, r := range s.records {
		if oldest == "" || r.since < s.records[oldest].since {
			oldest = name
		}
	}
	delete(s.records, oldest)
}

func (s *toy) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.check(key, value, ttl); err != nil {
		return 0, err
	}
	if !s.is("the caller's value is kept") {
		value = bytes.Clone(value)
	}
	var now store.Revision
	err := s.operate(ctx, func() error {
		name := s.name(key)
		r := s.live(name)
		switch {
		case s.strange(key):
			return store.ErrForgotten
		case r == nil && !s.is("update creates"):
			return store.ErrConflict
		case r != nil && r.revision != at && !s.is("update ignores the revision"):
			return store.ErrConflict
		case !s.fits(len(value)) && s.is("an update needs room of its own"):
			return store.ErrFull
		}
		now = s.put(ctx, name, value, ttl)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return now, nil
}

func (s *toy) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil && !s.is("any key is taken") {
		return nil, 0, err
	}
	var value []byte
	var at store.Revision
	err := s.operate(ctx, func() error {
		r := s.live(s.name(key))
		if s.strange(key) || r == nil || len(r.value) == 0 && s.is("an empty value is none") {
			return store.ErrNotFound
		}
		if value, at = r.value, r.revision; !s.is("its own value is handed out") {
			value = slices.Clone(r.value)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return value, at, nil
}

func (s *toy) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	if err := key.Check(); err != nil {
		return err
	}
	if s.is("wait returns at once") {
		return nil
	}
	ch := make(chan struct{})
	done := false
	var expires time.Time
	if err := s.operate(ctx, func() error {
		r := s.live(s.name(key))
		if done = r == nil || r.revision > at; done && !s.is("wait does not look first") && !s.is("wait never returns") {
			return nil
		}
		if done = false; r != nil {
			expires = r.expires
		}
		s.waiting[ch], s.mine[ch] = true, true
		return nil
	}); err != nil || done {
		return err
	}
	expired := time.After(time.Until(expires))
	if s.is("an expiry wakes nobody") || s.is("wait never returns") || expires.IsZero() {
		expired = nil
	}
	if s.is("wait never returns") {
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case <-ch:
		return nil
	case <-expired:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
