package replay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// place is where an instance runs. It dies in an effect, if it has to: what runs there stands still
// then, and nothing that it writes arrives.
type place struct {
	mu      sync.Mutex
	diesIn  string
	reached chan struct{} // closed when it has died
	dead    atomic.Bool
	woken   chan struct{}
	wake    sync.Once
}

func newPlace() *place { return &place{woken: make(chan struct{})} }

// diesInNext has it die in the next effect of a name.
func (p *place) diesInNext(effect string) (died <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.diesIn, p.reached = effect, make(chan struct{})
	return p.reached
}

// reach comes to an effect.
func (p *place) reach(effect string) {
	p.mu.Lock()
	dies := p.diesIn == effect
	if dies {
		p.diesIn = ""
		p.dead.Store(true)
		close(p.reached)
	}
	p.mu.Unlock()
	if dies {
		<-p.woken
	}
}

// wakes lets what stands still come to its end. It is not heard of any more.
func (p *place) wakes() { p.wake.Do(func() { close(p.woken) }) }

// meets reports why a write does not arrive.
func (p *place) meets(ctx context.Context) error {
	if p.dead.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.woken:
			return store.ErrForgotten // so that nothing is written again
		}
	}
	return nil
}

// of is a store as it is seen from the place. A memory store in the process itself cannot be lost,
// and is left as it is.
func (p *place) of(s store.Store) store.Store {
	scheduler, ok := s.(store.Scheduler)
	if !ok || s.Scope() == store.Process {
		return s
	}
	return &remote{s, scheduler, p}
}

// remote is a store with a place that may be dead.
type remote struct {
	store.Store
	scheduler store.Scheduler
	at        *place
}

func (r *remote) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := r.at.meets(ctx); err != nil {
		return 0, err
	}
	return r.Store.Create(ctx, key, value, ttl)
}

func (r *remote) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := r.at.meets(ctx); err != nil {
		return 0, err
	}
	return r.Store.Update(ctx, key, at, value, ttl)
}

func (r *remote) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if err := r.at.meets(ctx); err != nil {
		return 0, err
	}
	return r.scheduler.Schedule(ctx, key, at, value, ttl, due)
}

func (r *remote) Due(ctx context.Context, before time.Time, n int) ([]store.Key, error) {
	if err := r.at.meets(ctx); err != nil {
		return nil, err
	}
	return r.scheduler.Due(ctx, before, n)
}

func (r *remote) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, r.Store, key, at)
}
