// Package lifecycle is the end of a runtime: the door that shuts, the services that drain, and the
// users who are still being asked.
package lifecycle

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A Door lets requests in until the runtime drains, and knows when the last of them has left. A
// legacy client's call is one request, which lasts while its user is asked.
type Door struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  keep.Emptiness
}

// Enter reports whether the request is inside: always if evenSo, else while the door is open. A
// legacy client can't send a later round again, so that one enters a closed door too.
func (d *Door) Enter(evenSo bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed && !evenSo {
		return false
	}
	d.inside++
	return true
}

// Leave ends a request that entered.
func (d *Door) Leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	d.empty.Note(d.inside == 0)
}

// Inside counts the requests.
func (d *Door) Inside() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside
}

// Close shuts the door. The channel is closed once every request has left.
func (d *Door) Close() (empty <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return d.empty.Wait(d.inside == 0)
}

// Services are those that the layers have made.
type Services struct {
	Last []keep.Service // drain after all that the layers have made

	mu       sync.Mutex
	byKey    map[any]keep.Service
	draining bool
	closeBy  time.Time // zero until the runtime is closed
}

// Of is the service under a key. One that is made while the runtime drains, or after it was
// closed, is drained or closed at once.
func (s *Services) Of(key any, make func() keep.Service) keep.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[any]keep.Service{}
	}
	if s.byKey[key] == nil {
		made := make()
		if s.byKey[key] = made; s.draining {
			made.Drain()
		}
		if !s.closeBy.IsZero() {
			_ = made.Close(s.closeBy) // it has nothing to close
		}
	}
	return s.byKey[key]
}

// Drain drains every service before anyone can see that the runtime drains.
func (s *Services) Drain() (empty []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for _, service := range s.byKey {
		empty = append(empty, service.Drain())
	}
	return empty
}

// Close closes all services at once. They have until the time that was given first.
func (s *Services) Close(until time.Time) error {
	s.mu.Lock()
	if s.closeBy.IsZero() {
		s.closeBy = until
	}
	until = s.closeBy
	all := slices.AppendSeq(slices.Clone(s.Last), maps.Values(s.byKey))
	s.mu.Unlock()
	failed := make([]error, len(all))
	var wg sync.WaitGroup
	for i, service := range all {
		wg.Go(func() { failed[i] = service.Close(until) })
	}
	wg.Wait()
	return errors.Join(failed...)
}

// Count adds up all services.
func (s *Services) Count(sum *listen.Stats, waiting func(w listen.Waiting, since time.Time)) {
	s.mu.Lock()
	all := slices.AppendSeq(slices.Clone(s.Last), maps.Values(s.byKey))
	sum.Draining, sum.Closed = s.draining, !s.closeBy.IsZero()
	s.mu.Unlock()
	for _, service := range all {
		service.Count(sum, waiting)
	}
}

// Waiting adds up the calls that wait, by the handler that asks and the way it does.
func (s *Services) Waiting() []listen.Waiting {
	found, now := map[listen.Waiting]listen.Waiting{}, time.Now()
	s.Count(new(listen.Stats), func(key listen.Waiting, since time.Time) {
		w, known := found[key]
		if !known {
			w = key
		}
		w.Calls++
		w.Longest = max(w.Longest, now.Sub(since))
		found[key] = w
	})
	return slices.SortedFunc(maps.Values(found), func(a, b listen.Waiting) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Way, b.Way), cmp.Compare(a.Era, b.Era))
	})
}

// Asking is the service of the legacy calls whose users are being asked.
type Asking struct {
	mu    sync.Mutex
	calls map[*listen.Waiting]time.Time // since when
}

// Begin adds a call, until answered is called.
func (a *Asking) Begin(w listen.Waiting, since time.Time) (answered func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = map[*listen.Waiting]time.Time{}
	}
	a.calls[&w] = since
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.calls, &w)
	}
}

// Drain implements [keep.Service]. The door waits for these calls.
func (a *Asking) Drain() <-chan struct{} {
	empty := make(chan struct{})
	close(empty)
	return empty
}

// Close implements [keep.Service].
func (a *Asking) Close(time.Time) error { return nil }

// Count implements [keep.Service].
func (a *Asking) Count(_ *listen.Stats, waiting func(w listen.Waiting, since time.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for w, since := range a.calls {
		waiting(*w, since)
	}
}
