//go:build unix

package crashtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// weather is a tap that lets a store fail in the ways of a schedule.
type weather struct {
	now atomic.Pointer[tapFunc] // nil while it is fair
}

type tapFunc = func(ctx context.Context, op operation, run, late func() error) error

func (w *weather) around(ctx context.Context, op operation, run, late func() error) error {
	if now := w.now.Load(); now != nil {
		return (*now)(ctx, op, run, late)
	}
	return run()
}

func (w *weather) set(now tapFunc) { w.now.Store(&now) }

var errCut = errors.New("connection lost")

func (w *weather) fail(err error) {
	w.set(func(context.Context, operation, func() error, func() error) error { return err })
}

// befall changes the weather of one instance, or holds the backend up for all who reach it
// by way of the subject's own handle.
func (s *schedule) befall(i *stormy) {
	kind, slow := s.rand.IntN(8), s.upTo(s.lease/2)
	if i.gone {
		return
	}
	switch kind {
	case 0:
		i.fail(errCut)
	case 1:
		i.set(func(_ context.Context, _ operation, run, late func() error) error {
			if late != nil {
				return store.ErrFull
			}
			return run()
		})
	case 2:
		i.set(func(ctx context.Context, _ operation, _, _ func() error) error {
			<-ctx.Done()
			return ctx.Err()
		})
	case 3:
		i.set(func(ctx context.Context, _ operation, run, late func() error) error {
			if err := pause(ctx, slow); err != nil {
				if late != nil { // it comes late
					time.AfterFunc(slow, func() { _ = late() })
				}
				return err
			}
			return run()
		})
	case 4:
		s.hold(s.HoldRequests)
	case 5:
		s.hold(s.HoldAnswers)
	default:
		i.now.Store(nil)
	}
}

// hold holds the backend up, or ends that.
func (s *schedule) hold(begin func() (release func())) {
	switch {
	case s.clear != nil:
		s.clear()
		s.clear = nil
	case begin != nil:
		s.clear = begin()
	}
}

// clearUp makes the weather fair for those who are still there.
func (s *schedule) clearUp() {
	if s.clear != nil {
		s.hold(nil)
	}
	for _, i := range s.instances {
		if !i.gone {
			i.now.Store(nil)
		}
	}
}
