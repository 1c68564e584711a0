package mrtrtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// A World holds all that a server under test shares with its test. Each instance
// of the server gets one of its own, and the worlds of one deployment belong
// together: they name the same deployment and count into the same list of effects.
// A runtime of package mrtr takes its key and its store from there:
//
//	key, err := statecodec.NewKey(w.Key())
//	...
//	rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Durable: durable.In(w.Store(), nil)})
//	...
//	w.Cleanup(func() { rt.Close() })
//
// Its methods may be called from any goroutine.
type World struct {
	// Deployment names the deployment that the instance belongs to. Instances of
	// one deployment share their secrets and must serve one another's rounds;
	// instances of two deployments share nothing.
	Deployment string

	deployment *Deployment

	mu       sync.Mutex
	cleanups []func()
	die      func(why error) // ends the instance as if its process had died
	dead     bool
}

// Effect says that the tool has had an effect: call it where the tool has charged,
// sent or written something. The name distinguishes effects in assertions and
// reports.
//
// In a proof, a process may die here. Then Effect does not return before the proof
// is over, so it must not be called with a lock that another instance takes.
func (w *World) Effect(name string) {
	if w.isDead() {
		return // a process that has died does nothing any more
	}
	if over := w.deployment.happened(effect{name: name}); over != nil {
		w.die(fmt.Errorf("the process was ended after the effect %q", name))
		<-over // no line below runs: the process has ended here
	}
}

// Undo says that the tool has undone an effect of this name: call it where the tool
// has refunded, released or deleted something, as in a function that Style.OnStop declares. A
// proof counts an effect that was undone as none. In an [Outcome] it is "undo" and the
// name, so that a test sees both.
func (w *World) Undo(name string) {
	if !w.isDead() {
		w.deployment.happened(effect{name: name, undone: true})
	}
}

func (w *World) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// Cleanup has f called when the instance is stopped, last in first out.
func (w *World) Cleanup(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleanups = append(w.cleanups, f)
}

// Key is a secret of 32 bytes that all instances of the deployment have, and no
// instance of another.
func (w *World) Key() []byte {
	key := sha256.Sum256([]byte("mrtrtest deployment " + w.Deployment))
	return key[:]
}

// Shared is a value that the instances of a deployment have in common, such as a
// database: the first one to ask for the name makes it. A value with a Close
// method is closed after the last instance was stopped.
func Shared[T any](w *World, name string, build func() T) T {
	d := w.deployment
	d.mu.Lock()
	defer d.mu.Unlock()
	if value, made := d.shared[name]; made {
		return value.(T)
	}
	if d.shared == nil {
		d.shared = map[string]any{}
	}
	value := build()
	d.shared[name] = value
	if c, ok := any(value).(io.Closer); ok {
		d.closers = append(d.closers, c)
	}
	return value
}

// stop runs the cleanups.
func (w *World) stop() {
	w.mu.Lock()
	cleanups := w.cleanups
	w.cleanups = nil
	w.mu.Unlock()
	for _, f := range slices.Backward(cleanups) {
		f()
	}
}

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
