package durable

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Records are those of a store, sealed where they leave the process.
type Records struct {
	store    store.Store
	sealer   sealer // of nobody where the records are those of this process
	patience time.Duration
	epoch    epoch
}

// NewRecords are the records of a store of this process alone.
func NewRecords(s store.Store, patience time.Duration) *Records {
	return &Records{store: s, patience: patience}
}

// Store is the store.
func (r *Records) Store() store.Store { return r.store }

// Patience bounds one operation of the store.
func (r *Records) Patience() time.Duration { return r.patience }

// Epoch is the epoch of the store, which is asked for once.
func (r *Records) Epoch(ctx context.Context) (string, error) {
	if known := r.epoch.Load(); known != nil {
		return *known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	epoch, err := r.store.Epoch(ctx)
	if err != nil {
		return "", err
	}
	r.epoch.learn(epoch)
	return epoch, nil
}

func (e *epoch) learn(now string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last != now {
		e.moved = e.last != ""
		e.last, e.since = now, time.Now()
	}
	e.Store(&now)
}

// learnedAt is since when the epoch is known here.
func (r *Records) learnedAt() time.Time {
	r.epoch.mu.Lock()
	defer r.epoch.mu.Unlock()
	return r.epoch.since
}

// hasMoved reports whether this instance has known another epoch before.
func (r *Records) hasMoved() bool {
	r.epoch.mu.Lock()
	defer r.epoch.mu.Unlock()
	return r.epoch.moved
}

// Forgotten notes that the store does not have the contents that somebody relies on. The epoch
// is asked for anew.
func (r *Records) Forgotten() { r.epoch.Store(nil) }

// Seal seals a record for its name.
func (r *Records) Seal(name string, record []byte) ([]byte, error) {
	if r.sealer.of == nil {
		return record, nil
	}
	return r.sealer.Seal(name, record)
}

// Open opens a record.
func (r *Records) Open(name string, sealed []byte) ([]byte, error) {
	if r.sealer.of == nil {
		return sealed, nil
	}
	return r.sealer.Open(name, sealed)
}

// recordOverhead is more than a record holds beside its result, and recordFrame more than one
// that has nothing but a result.
const (
	recordOverhead = 128 << 10
	recordFrame    = 64
)

// sealer seals records, each for its own name.
type sealer struct{ of keep.Sealer }

func (s sealer) Seal(name string, record []byte) ([]byte, error) {
	token, err := s.of.Seal(statecodec.Binding{Target: name}, record)
	if errors.Is(err, statecodec.ErrTooLarge) {
		return nil, store.ErrTooLarge
	}
	return []byte(token), err
}

func (s sealer) Open(name string, sealed []byte) ([]byte, error) {
	return s.of.Open(statecodec.Binding{Target: name}, string(sealed))
}

// watchedStore tells the listener how long each operation of a store took, and of its failures (a
// conflict is a verdict, not a failure). Operations outside a request, such as signs of life and
// records of tasks, are told too.
type watchedStore struct {
	store.Store
	listener listen.Listener
}

// watched wraps a store for a listener. The memory store stays as it is: it never waits.
func watched(s store.Store, l listen.Listener) store.Store {
	if _, instant := s.(*store.Memory); instant || l == nil {
		return s
	}
	return &watchedStore{s, l}
}

// roundKey is the context key of the *mrtr.Round whose record is asked for.
type roundKey struct{}

func (w *watchedStore) tell(ctx context.Context, operation string, began time.Time, err error) {
	var at listen.Round
	if round, ok := ctx.Value(roundKey{}).(*listen.Round); ok {
		at = *round
	}
	e := listen.Entry{Kind: Asked, Key: operation, Took: time.Since(began)}
	if err != nil && !store.IsVerdict(err) && !errors.Is(err, context.Canceled) {
		e.Err = err
	}
	stack.Guard(func() { w.listener.Heard(ctx, at, e) })
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

// Reached implements [store.Marker]: a store that is none has come nowhere.
func (w *watchedStore) Reached(epoch string) store.Revision {
	if marker, ok := w.Store.(store.Marker); ok {
		return marker.Reached(epoch)
	}
	return 0
}

// The operations below are called of a store that has them.

func (w *watchedStore) Sweep(ctx context.Context) (left bool, err error) {
	defer func(began time.Time) { w.tell(ctx, "sweep", began, err) }(time.Now())
	return w.Store.(store.Sweeper).Sweep(ctx)
}

func (w *watchedStore) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (now store.Revision, err error) {
	defer func(began time.Time) { w.tell(ctx, "update", began, err) }(time.Now())
	return w.Store.(store.Scheduler).Schedule(ctx, key, at, value, ttl, due)
}

func (w *watchedStore) Due(ctx context.Context, before time.Time, n int) (due []store.Key, err error) {
	defer func(began time.Time) { w.tell(ctx, "due", began, err) }(time.Now())
	return w.Store.(store.Scheduler).Due(ctx, before, n)
}
