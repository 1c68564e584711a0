package fleet

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Tapped is a store that lets something happen around its operations.
type Tapped struct {
	store.Store
	Around Tap
}

// A Tap runs an operation of the store, or returns why it does not. Late makes the same
// write when its caller has given it up, and is nil for an operation that writes nothing.
type Tap func(ctx context.Context, op Operation, run, late func() error) error

// Operation is one of a store.
type Operation int

// The operations.
const (
	Epoch Operation = iota
	Create
	Update
	Get
)

func (s Tapped) Epoch(ctx context.Context) (e string, err error) {
	err = s.Around(ctx, Epoch, func() (err error) { e, err = s.Store.Epoch(ctx); return }, nil)
	return e, err
}

func (s Tapped) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (at store.Revision, err error) {
	value = bytes.Clone(value)
	late := func() error { _, err := s.Store.Create(context.WithoutCancel(ctx), key, value, ttl); return err }
	err = s.Around(ctx, Create, func() (err error) { at, err = s.Store.Create(ctx, key, value, ttl); return }, late)
	return at, err
}

func (s Tapped) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (next store.Revision, err error) {
	value = bytes.Clone(value)
	late := func() error { _, err := s.Store.Update(context.WithoutCancel(ctx), key, at, value, ttl); return err }
	err = s.Around(ctx, Update, func() (err error) { next, err = s.Store.Update(ctx, key, at, value, ttl); return }, late)
	return next, err
}

// Schedule is a Create or an Update, of a store that can say when it is due.
func (s Tapped) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (next store.Revision, err error) {
	scheduler, can := s.Store.(store.Scheduler)
	switch {
	case !can && at == 0:
		return s.Create(ctx, key, value, ttl)
	case !can:
		return s.Update(ctx, key, at, value, ttl)
	}
	value = bytes.Clone(value)
	write := func(ctx context.Context) (store.Revision, error) {
		return scheduler.Schedule(ctx, key, at, value, ttl, due)
	}
	late := func() error { _, err := write(context.WithoutCancel(ctx)); return err }
	op := Update
	if at == 0 {
		op = Create
	}
	err = s.Around(ctx, op, func() (err error) { next, err = write(ctx); return }, late)
	return next, err
}

func (s Tapped) Due(ctx context.Context, before time.Time, n int) (due []store.Key, err error) {
	if scheduler, can := s.Store.(store.Scheduler); can {
		err = s.Around(ctx, Get, func() (err error) { due, err = scheduler.Due(ctx, before, n); return }, nil)
	}
	return due, err
}

func (s Tapped) Get(ctx context.Context, key store.Key) (value []byte, at store.Revision, err error) {
	err = s.Around(ctx, Get, func() (err error) { value, at, err = s.Store.Get(ctx, key); return }, nil)
	return value, at, err
}

// Wait is that of the store: embedding alone would hide that it is a Watcher.
func (s Tapped) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, s.Store, key, at)
}

// Shared is a store of one process that looks like one of several.
type Shared struct{ store.Store }

// Scope is that of a file.
func (Shared) Scope() store.Scope { return store.Machine }

// Wait is that of the store.
func (s Shared) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, s.Store, key, at)
}

// Weather is a tap that changes from time to time. The zero value is fair.
type Weather struct{ now atomic.Pointer[Tap] }

// Around is the tap.
func (w *Weather) Around(ctx context.Context, op Operation, run, late func() error) error {
	if now := w.now.Load(); now != nil {
		return (*now)(ctx, op, run, late)
	}
	return run()
}

// Set changes the weather. Nil is fair.
func (w *Weather) Set(now Tap) {
	if now == nil {
		w.now.Store(nil)
	} else {
		w.now.Store(&now)
	}
}

// ErrCut is the error of a store that is cut off.
var ErrCut = errors.New("connection lost")

// Cut fails each operation.
func Cut(context.Context, Operation, func() error, func() error) error { return ErrCut }

// Full refuses writes.
func Full(_ context.Context, _ Operation, run, late func() error) error {
	if late != nil {
		return store.ErrFull
	}
	return run()
}

// Frozen answers nothing.
func Frozen(ctx context.Context, _ Operation, _, _ func() error) error {
	<-ctx.Done()
	return ctx.Err()
}

// Slowly lets operations take a while to begin. A write whose caller does not wait for that
// comes late, or never.
func Slowly(each time.Duration, comesLate bool) Tap {
	return func(ctx context.Context, _ Operation, run, late func() error) error {
		if err := Pause(ctx, each); err != nil {
			if comesLate && late != nil {
				time.AfterFunc(each, func() { _ = late() })
			}
			return err
		}
		return run()
	}
}

// Pause waits, no longer than ctx.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
