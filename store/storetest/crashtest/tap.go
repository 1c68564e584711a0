//go:build unix

package crashtest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// tapped is a store that lets something happen around its operations.
type tapped struct {
	store.Store
	around tap
}

// A tap runs an operation of the store, or returns why it does not. Late makes the same
// write when its caller has given it up, and is nil for an operation that writes nothing.
type tap func(ctx context.Context, op operation, run, late func() error) error

type operation int

const (
	epoch operation = iota
	create
	update
	get
)

func (s tapped) Epoch(ctx context.Context) (e string, err error) {
	err = s.around(ctx, epoch, func() (err error) { e, err = s.Store.Epoch(ctx); return }, nil)
	return e, err
}

func (s tapped) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (at store.Revision, err error) {
	value = bytes.Clone(value)
	late := func() error { _, err := s.Store.Create(context.WithoutCancel(ctx), key, value, ttl); return err }
	err = s.around(ctx, create, func() (err error) { at, err = s.Store.Create(ctx, key, value, ttl); return }, late)
	return at, err
}

func (s tapped) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (next store.Revision, err error) {
	value = bytes.Clone(value)
	late := func() error { _, err := s.Store.Update(context.WithoutCancel(ctx), key, at, value, ttl); return err }
	err = s.around(ctx, update, func() (err error) { next, err = s.Store.Update(ctx, key, at, value, ttl); return }, late)
	return next, err
}

func (s tapped) Get(ctx context.Context, key store.Key) (value []byte, at store.Revision, err error) {
	err = s.around(ctx, get, func() (err error) { value, at, err = s.Store.Get(ctx, key); return }, nil)
	return value, at, err
}

// Wait is that of the store: embedding alone would hide that it is a Watcher.
func (s tapped) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, s.Store, key, at)
}

// weather is a tap that changes from time to time.
type weather struct {
	now atomic.Pointer[tap] // nil while it is fair
}

func (w *weather) around(ctx context.Context, op operation, run, late func() error) error {
	if now := w.now.Load(); now != nil {
		return (*now)(ctx, op, run, late)
	}
	return run()
}

// set changes the weather. Nil is fair.
func (w *weather) set(now tap) {
	if now == nil {
		w.now.Store(nil)
	} else {
		w.now.Store(&now)
	}
}

var errCut = errors.New("connection lost")

func failing(err error) tap {
	return func(context.Context, operation, func() error, func() error) error { return err }
}

// slowly lets operations take a while to begin. A write whose caller does not wait for that
// comes late, or never.
func slowly(each time.Duration, comesLate bool) tap {
	return func(ctx context.Context, _ operation, run, late func() error) error {
		if err := pause(ctx, each); err != nil {
			if comesLate && late != nil {
				time.AfterFunc(each, func() { _ = late() })
			}
			return err
		}
		return run()
	}
}

var errUnsteady = errors.New("the store has stopped")

// unsteady is a tap that fails for 0.2 seconds of each second, at all processes at once. Of
// the operations that fail then, one in three was not run, one has been, and one will be.
func unsteady(_ context.Context, _ operation, run, late func() error) error {
	if time.Now().UnixMilli()%1000 >= 200 {
		return run()
	}
	switch rand.IntN(3) {
	case 0:
		_ = run()
	case 1:
		if late != nil {
			time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = late() })
		}
	}
	return errUnsteady
}
