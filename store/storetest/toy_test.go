package storetest

import (
	"context"
	"crypto/rand"
	"errors"
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
