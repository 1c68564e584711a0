package tasks_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/options/replay"
	"github.com/mrtr-go/sdk/store"
)

// dumped is a store of which a test reads all values.
type dumped struct {
	*store.Memory
	mu     sync.Mutex
	values map[string][]byte // guarded by mu
}

func (d *dumped) keep(key store.Key, value []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values[key.Name] = slices.Clone(value)
}

// dump is all of them.
func (d *dumped) dump() (all []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, value := range d.values {
		all = append(append(all, name...), value...)
	}
	return all
}

func (d *dumped) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	at, err := d.Memory.Create(ctx, key, value, ttl)
	if err == nil {
		d.keep(key, value)
	}
	return at, err
}

func (d *dumped) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	now, err := d.Memory.Schedule(ctx, key, at, value, ttl, due)
	if err == nil {
		d.keep(key, value)
	}
	return now, err
}

func (d *dumped) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	now, err := d.Memory.Update(ctx, key, at, value, ttl)
	if err == nil {
		d.keep(key, value)
	}
	return now, err
}

func TestErasingACallLeavesNothing(t *testing.T) {
	for name, c := range replay.Erasures {
		t.Run(name, func(t *testing.T) {
			records := &dumped{Memory: store.NewMemory(nil), values: map[string][]byte{}}
			c.Hold(t, records, records.dump)
		})
	}
}
