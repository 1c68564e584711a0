package page

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// instanceNames are the two instances of every bench.
var instanceNames = []string{"a", "b"}

// bench belongs to one visitor: two instances of a server that share a
// key which nobody else has, and the events on them.
type bench struct {
	id        string
	events    *events
	instances map[string]*instance
	rounds    *store.Memory
	opener    *mrtr.Runtime // it only opens states
	closing   *sync.WaitGroup
	sockets   atomic.Int32 // that are open: the visitor is there
}

func newBench(id string, closing *sync.WaitGroup) (_ *bench, err error) {
	keys := []statecodec.Key{statecodec.GenerateKey()}
	b := &bench{id: id, events: &events{}, instances: map[string]*instance{}, rounds: store.NewMemory(&store.MemoryOptions{MaxBytes: 4 << 20}), closing: closing}
	if b.opener, err = mrtr.New(&mrtr.Options{Durable: durable.In(mortal{b.rounds, b.rounds, context.Background()}, nil), State: &statecodec.Options{Keys: keys}}); err != nil {
		return nil, err
	}
	for _, name := range instanceNames {
		b.instances[name] = &instance{name: name, bench: b, keys: keys, stands: map[settings]*stand{}}
	}
	return b, nil
}

// mortal is a memory store in the hands of an instance, which it outlives: they are killed and
// started inside one process. Nothing that is dead writes.
type mortal struct {
	store.Store
	store.Watcher
	life context.Context
}

func (mortal) Scope() store.Scope { return store.Machine }

func (m mortal) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if m.life.Err() != nil {
		return 0, store.ErrForgotten
	}
	return m.Store.Create(ctx, key, value, ttl)
}

func (m mortal) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if m.life.Err() != nil {
		return 0, store.ErrForgotten
	}
	return m.Store.Update(ctx, key, at, value, ttl)
}

func (b *bench) close() {
	for _, i := range b.instances {
		i.kill()
	}
	b.closing.Go(func() { _ = b.opener.Close() })
}

// serveOpen opens a state with the bench's key, as a server does before each
// round. A client has no such endpoint anywhere else.
func serveOpen(w http.ResponseWriter, r *http.Request, b *bench) {
	var body struct {
		State     string          `json:"state"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, "The body must be an object with state, tool and arguments.", http.StatusBadRequest)
		return
	}
	payload, err := b.opener.Inspect(body.State, statecodec.Binding{Target: body.Tool, Arguments: body.Arguments, Principal: owner})
	var refused *statecodec.TokenError
	switch {
	case errors.As(err, &refused):
		writeJSON(w, map[string]any{"refused": refused.Reason()})
	case err != nil:
		writeJSON(w, map[string]any{"refused": "unreadable"})
	default:
		writeJSON(w, map[string]any{"payload": payload})
	}
}

// maxBenches bounds how many visitors are served at once. A page that is loaded again is
// another visitor.
const maxBenches = 64

// benches holds the visitors' benches, the oldest first.
type benches struct {
	mu      sync.Mutex
	open    []*bench
	closed  bool
	closing sync.WaitGroup // runtimes that are being closed
}

// add makes a bench, or returns nil if there are too many. The oldest whose visitor has
// left makes room.
func (s *benches) add() (*bench, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	if len(s.open) == maxBenches {
		left := slices.IndexFunc(s.open, func(b *bench) bool { return b.sockets.Load() == 0 })
		if left < 0 {
			return nil, nil
		}
		s.open[left].close()
		s.open = slices.Delete(s.open, left, left+1)
	}
	b, err := newBench(rand.Text(), &s.closing)
	if err == nil {
		s.open = append(s.open, b)
	}
	return b, err
}

func (s *benches) find(id string) *bench {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.open, func(b *bench) bool { return b.id == id }); i >= 0 {
		return s.open[i]
	}
	return nil
}

func (s *benches) close() {
	s.mu.Lock()
	s.closed = true
	for _, b := range s.open {
		b.close()
	}
	s.open = nil
	s.mu.Unlock()
	s.closing.Wait()
}

// openBench answers POST /demo: a bench for one visitor.
func (h *Handler) openBench(w http.ResponseWriter, r *http.Request) {
	b, err := h.benches.add()
	switch {
	case err != nil:
		h.logger.Error("a bench was not opened", "error", err)
		http.Error(w, "The bench could not be opened.", http.StatusInternalServerError)
	case b == nil:
		http.Error(w, "All benches are in use. Try again in some minutes.", http.StatusServiceUnavailable)
	default:
		writeJSON(w, map[string]any{
			"id": b.id, "instances": instanceNames, "life_ms": shortLife.Milliseconds(), "places": options.Places(),
		})
	}
}

func (h *Handler) onBench(serve func(http.ResponseWriter, *http.Request, *bench)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b := h.benches.find(r.PathValue("bench"))
		if b == nil {
			http.Error(w, "There is no such bench, or no longer.", http.StatusNotFound)
			return
		}
		serve(w, r, b)
	}
}

func (h *Handler) onInstance(serve func(http.ResponseWriter, *http.Request, *instance)) http.HandlerFunc {
	return h.onBench(func(w http.ResponseWriter, r *http.Request, b *bench) {
		i := b.instances[r.PathValue("instance")]
		if i == nil {
			http.Error(w, "There is no such instance.", http.StatusNotFound)
			return
		}
		serve(w, r, i)
	})
}
