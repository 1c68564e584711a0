package mrtrtest

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Store is a store in memory that all instances of the deployment share, as they would a
// database: give durable.In of it to mrtr.Options. An instance that has died cannot reach it.
func (w *World) Store() store.Store {
	return worldStore{Shared(w, "mrtrtest.Store", func() *store.Memory { return store.NewMemory(nil) }), w}
}

// worldStore is the way of one instance to the store.
type worldStore struct {
	*store.Memory
	world *World
}

var errDied = errors.New("mrtrtest: the instance has died")

func (s worldStore) alive() error {
	if s.world.isDead() {
		return errDied
	}
	return nil
}

// Scope is that of processes.
func (s worldStore) Scope() store.Scope { return store.Machine }

func (s worldStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.alive(); err != nil {
		return 0, err
	}
	return s.Memory.Create(ctx, key, value, ttl)
}

func (s worldStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.alive(); err != nil {
		return 0, err
	}
	return s.Memory.Update(ctx, key, at, value, ttl)
}

func (s worldStore) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if err := s.alive(); err != nil {
		return 0, err
	}
	return s.Memory.Schedule(ctx, key, at, value, ttl, due)
}

func (s worldStore) Due(ctx context.Context, before time.Time, n int) ([]store.Key, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.Memory.Due(ctx, before, n)
}

func (s worldStore) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := s.alive(); err != nil {
		return nil, 0, err
	}
	return s.Memory.Get(ctx, key)
}
