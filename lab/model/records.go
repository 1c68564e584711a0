package model

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// records are a store that the instances share. Those of first turns can become such as nobody reads.
type records struct {
	*store.Memory

	mu    sync.Mutex
	first map[store.Key]bool
}

func newRecords() *records {
	return &records{Memory: store.NewMemory(nil), first: map[store.Key]bool{}}
}

// Scope is that of several processes.
func (*records) Scope() store.Scope { return store.Machine }

func (r *records) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	r.note(key)
	return r.Memory.Create(ctx, key, value, ttl)
}

func (r *records) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	r.note(key)
	return r.Memory.Schedule(ctx, key, at, value, ttl, due)
}

func (r *records) note(key store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasSuffix(key.Name, ".first") {
		key.After = 0
		r.first[key] = true
	}
}

// spoil leaves no record of a first turn that can be read, as another release would.
func (r *records) spoil(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.first {
		_, at, err := r.Get(ctx, key)
		if err == nil {
			_, err = r.Update(ctx, key, at, []byte("?"), tokenLife)
		}
		if err != nil && !store.IsVerdict(err) {
			return err
		}
	}
	return nil
}
