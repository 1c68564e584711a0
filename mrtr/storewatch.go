package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// watchedStore tells the observer how long each operation of a store took, and of its failures
// (a conflict is a verdict, not a failure). Operations outside a request, such as signs of
// life and records of tasks, are told too.
type watchedStore struct {
	store.Store
	observer Observer
}

// watched wraps a store for an observer; without one it returns the store. The memory store stays as it is: it never waits.
func watched(s store.Store, o Observer) store.Store {
	if _, instant := s.(*store.Memory); instant || o == nil {
		return s
	}
	w := &watchedStore{s, o}
	if sweeper, ok := s.(store.Sweeper); ok {
		return sweptStore{w, sweeper}
	}
	return w
}

// roundKey is the context key of the *Event that describes a remembered round.
type roundKey struct{}

func (w *watchedStore) tell(ctx context.Context, operation string, began time.Time, err error) {
	e := Event{}
	if round, ok := ctx.Value(roundKey{}).(*Event); ok {
		e = *round
	}
	e.Kind, e.Waited = StoreAsked, 0
	e.Operation, e.Duration = operation, time.Since(began)
	if err != nil && !store.IsVerdict(err) && !errors.Is(err, context.Canceled) {
		e.Err = err
	}
	_ = guard(func() error { w.observer.Observe(ctx, e); return nil })
}

func (w *watchedStore) Epoch(ctx context.Context) (epoch string, err error) {
	defer func(began time.Time) { w.tell(ctx, "epoch", began, err) }(time.Now())
	return w.Store.Epoch(ctx)
}

func (w *watchedStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (at store.Revision, err error) {
	defer func(began time.Time) { w.tell(ctx, "create", began, err) }(time.Now())
	return w.Store.Create(ctx, key, value, ttl)
}

func (w *watchedStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (now store.Revision, err error) {
	defer func(began time.Time) { w.tell(ctx, "update", began, err) }(time.Now())
	return w.Store.Update(ctx, key, at, value, ttl)
}

func (w *watchedStore) Get(ctx context.Context, key store.Key) (value []byte, at store.Revision, err error) {
	defer func(began time.Time) { w.tell(ctx, "get", began, err) }(time.Now())
	return w.Store.Get(ctx, key)
}

// Wait lasts until the record changes, and ends with its context when nothing does.
func (w *watchedStore) Wait(ctx context.Context, key store.Key, at store.Revision) (err error) {
	defer func(began time.Time) {
		if ctx.Err() != nil {
			w.tell(ctx, "wait", began, nil)
			return
		}
		w.tell(ctx, "wait", began, err)
	}(time.Now())
	return store.Wait(ctx, w.Store, key, at)
}

// sweptStore is a watched store that keeps expired records until somebody removes them.
type sweptStore struct {
	*watchedStore
	sweeper store.Sweeper
}

func (s sweptStore) Sweep(ctx context.Context) (left bool, err error) {
	defer func(began time.Time) { s.tell(ctx, "sweep", began, err) }(time.Now())
	return s.sweeper.Sweep(ctx)
}
