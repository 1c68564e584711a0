package mrtr

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/keep"
)

// noNotes is for a round that nobody keeps.
type noNotes struct{}

func (noNotes) Left() []byte                { return nil }
func (noNotes) CutOff() bool                { return false }
func (noNotes) Call() string                { return "" }
func (noNotes) Doubts() bool                { return false }
func (noNotes) Mark() string                { return "" }
func (noNotes) Since() time.Time            { return time.Time{} }
func (noNotes) Begun(context.Context) error { return nil }
func (noNotes) Ended()                      {}
func (noNotes) Watch(keep.Effects)          {}

// endOf is the error of the call that a context ends, or nil.
func endOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return keep.EndOf(context.Cause(ctx))
}

// services are those that the layers have made.
type services struct {
	mu       sync.Mutex
	byKey    map[any]keep.Service
	draining bool
	closeBy  time.Time // zero until the runtime is closed
}

// of is the service under a key. One that is made while the runtime drains, or after it was
// closed, is drained or closed at once.
func (s *services) of(key any, make func() keep.Service) keep.Service {
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

// drain drains every service before anybody can see that the runtime drains.
func (s *services) drain() (empty []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for _, service := range s.byKey {
		empty = append(empty, service.Drain())
	}
	return empty
}

// close notes until when the runtime closes, unless that is known.
func (s *services) close(until time.Time) (all []keep.Service, by time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closeBy.IsZero() {
		s.closeBy = until
	}
	return slices.Collect(maps.Values(s.byKey)), s.closeBy
}

func (s *services) state() (all []keep.Service, draining, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byKey)), s.draining, !s.closeBy.IsZero()
}
