package storetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// FailingOver is a store for tests of calls: it fails over, as a database does whose standby is promoted. It
// is in memory, with the scope of a machine.
type FailingOver struct {
	mu     sync.Mutex
	life   int
	now    *store.Memory
	writes []kept
}

type kept struct {
	name  string
	value []byte
}

// NewFailingOver makes an empty one.
func NewFailingOver() *FailingOver { return &FailingOver{now: store.NewMemory(nil)} }

// FailOver begins another incarnation, which has so many of the writes.
func (s *FailingOver) FailOver(first int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.now = store.NewMemory(nil)
	s.writes = s.writes[:first]
	last := map[string][]byte{}
	for _, w := range s.writes {
		last[w.name] = w.value
	}
	for name, value := range last {
		if _, err := s.now.Create(context.Background(), store.Key{Epoch: s.own(), Name: name}, value, time.Hour); err != nil {
			panic(err)
		}
	}
}

// Writes are those of this incarnation, with those that it has from before.
func (s *FailingOver) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

func (s *FailingOver) epoch() string { return store.EpochOf("contents", strconv.Itoa(s.life)) }

// own is the epoch of the memory.
func (s *FailingOver) own() string {
	epoch, _ := s.now.Epoch(context.Background())
	return epoch
}

// Scope implements [store.Store].
func (s *FailingOver) Scope() store.Scope { return store.Machine }

// Epoch implements [store.Store].
func (s *FailingOver) Epoch(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch(), nil
}

// Reached implements [store.Marker].
func (s *FailingOver) Reached(epoch string) store.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch() {
		return 0
	}
	return s.now.Reached(s.own())
}

// inside is a key as the memory has it.
func (s *FailingOver) inside(key store.Key) (store.Key, error) {
	if key.Epoch != s.epoch() {
		return key, store.ErrForgotten
	}
	key.Epoch = s.own()
	return key, nil
}

// Create implements [store.Store].
func (s *FailingOver) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(key, value, func(key store.Key) (store.Revision, error) { return s.now.Create(ctx, key, value, ttl) })
}

// Update implements [store.Store].
func (s *FailingOver) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(key, value, func(key store.Key) (store.Revision, error) { return s.now.Update(ctx, key, at, value, ttl) })
}

func (s *FailingOver) write(key store.Key, value []byte, make func(store.Key) (store.Revision, error)) (store.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.inside(key)
	if err != nil {
		return 0, err
	}
	at, err := make(key)
	if err == nil {
		s.writes = append(s.writes, kept{key.Name, slices.Clone(value)})
	}
	return at, err
}

// Get implements [store.Store].
func (s *FailingOver) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.inside(key)
	if err != nil {
		return nil, 0, err
	}
	return s.now.Get(ctx, key)
}
