package kit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Main collects garbage rarely: these tests allocate much and keep little.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// Tried reports whether the nth cell of a long table is played here: one in five is, others
// each time where the table is a map, and at night all are.
func Tried(n int) bool { return n%5 == 0 || os.Getenv("MRTR_NIGHTLY") == "1" }

// Recorder is an Observer that keeps everything.
type Recorder struct {
	mu     sync.Mutex
	events []observe.Event
}

func (r *Recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *Recorder) All() []observe.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]observe.Event(nil), r.events...)
}

// Of is the events of one kind.
func (r *Recorder) Of(kind observe.Kind) []observe.Event {
	var found []observe.Event
	for _, e := range r.All() {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// Entries counts how often a handler was entered.
func (r *Recorder) Entries() int { return len(r.Of(observe.HandlerEntered)) }

func (r *Recorder) Abandoned() (reasons []string) {
	for _, e := range r.Of(observe.CallAbandoned) {
		reasons = append(reasons, fmt.Sprintf("%s (effects: %t)", e.Reason, e.HasEffects))
	}
	return reasons
}

// NewRuntime makes a runtime whose events are recorded.
func NewRuntime(t testing.TB, opts *mrtr.Options) (*mrtr.Runtime, *Recorder) {
	t.Helper()
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	seen := &Recorder{}
	if o.Listener == nil {
		o.Listener = observe.With(seen)
	}
	o = onForcedStore(t, o)
	rt, err := mrtr.New(&o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt, seen
}

// forcedStore is under every runtime of these tests that has none of its own, with
//
//	MRTR_STORE=memory go test ./mrtr ./mrtr/steps ./mrtr/given ./mrtr/linear ./mrtr/visit
//
// The tests hold with a store too, but for those that call Differs.
var forcedStore = store.NewMemory(nil)

func StoreForced() bool { return os.Getenv("MRTR_STORE") == "memory" }

// different holds the names of the tests that called Differs.
var different sync.Map

// Differs says what a store changes in the behaviour that a test is about: it runs without one.
func Differs(t testing.TB, why string) {
	require.NotEmpty(t, why)
	different.Store(t.Name(), true)
}

func onForcedStore(t testing.TB, o mrtr.Options) mrtr.Options {
	test, _, _ := strings.Cut(t.Name(), "/")
	if _, differs := different.Load(test); differs || !StoreForced() || o.Durable != nil {
		return o
	}
	over := store.Store(forcedStore)
	if o.State != nil && len(o.State.Keys) > 0 {
		over = Shared{forcedStore}
	}
	o.Durable = durable.In(over, &durable.Options{Patience: 100 * time.Millisecond}) // it never waits
	if o.Same == mrtr.SameInherit {                                                  // the equal calls of two tests are not one call
		o.Same = mrtr.SameNone
	}
	return o
}

// Shared is a memory store as if several processes shared it, whose records are sealed.
type Shared struct{ *store.Memory }

func (Shared) Scope() store.Scope { return store.Machine }

// SharedKey is for instances that serve one another's rounds.
var SharedKey = statecodec.GenerateKey()

func Keys(n int) []statecodec.Key {
	ring := make([]statecodec.Key, n)
	for i := range ring {
		ring[i] = statecodec.GenerateKey()
	}
	return ring
}

// NewLog is a logger, and the lines that it has written.
func NewLog() (*slog.Logger, *bytes.Buffer) {
	var log bytes.Buffer
	return slog.New(slog.NewTextHandler(&log, nil)), &log
}
