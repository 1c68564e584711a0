package page

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Bounds on the calls of one visitor, for each instance and setting. A visitor makes a
// handful of calls; one who means harm is not to fill the memory of a public page.
const (
	maxMessage   = 64 << 10 // bytes of a message to an instance
	maxHeld      = 256      // handlers that wait
	maxHeldBytes = 1 << 20  // of their inputs and answers
)

// instanceNames are the two instances of every bench.
var instanceNames = []string{"a", "b"}

// bench belongs to one visitor: two instances of a server that share a
// key which nobody else has, and the events on them.
type bench struct {
	id        string
	events    *events
	instances map[string]*instance
	rounds    store.Store
	opener    *mrtr.Runtime // it only opens states
	closing   *sync.WaitGroup
	idle      *time.Timer

	mu      sync.Mutex
	used    time.Time
	sockets int
}

func newBench(id string, closing *sync.WaitGroup) (*bench, error) {
	keys := []statecodec.Key{statecodec.GenerateKey()}
	b := &bench{id: id, events: &events{began: time.Now()}, instances: map[string]*instance{}, rounds: outliving{store.NewMemory(&store.MemoryOptions{MaxBytes: 4 << 20})}, closing: closing, used: time.Now()}
	var err error
	if b.opener, err = mrtr.New(&mrtr.Options{Store: b.rounds, State: &statecodec.Options{Keys: keys}}); err != nil {
		return nil, err
	}
	for _, name := range instanceNames {
		b.instances[name] = &instance{name: name, bench: b, keys: keys, stands: map[settings]*stand{}}
	}
	return b, nil
}

// outliving is a memory store that outlives the instances that use it, since they are
// killed and started inside one process.
type outliving struct{ *store.Memory }

func (outliving) Scope() store.Scope { return store.Machine }

func (b *bench) touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = time.Now()
}

// usage is when the bench was last used, and whether its visitor is there.
func (b *bench) usage() (since time.Time, inUse bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.sockets > 0
}

// maxSockets bounds the connections of one visitor, who needs one for each
// instance and setting.
const maxSockets = 64

func (b *bench) takeSocket() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sockets == maxSockets {
		return false
	}
	b.sockets++
	return true
}

func (b *bench) returnSocket() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sockets--
	b.used = time.Now()
}

func (b *bench) close() {
	for _, i := range b.instances {
		i.cut()
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
	payload, err := b.opener.Inspect(body.State, mrtr.SealedFor{Name: body.Tool, Arguments: body.Arguments, Principal: owner})
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

const (
	// maxBenches bounds how many visitors are served at once.
	maxBenches = 64
	// maxIdle is how long a bench without sockets is kept.
	maxIdle = 15 * time.Minute
)

// benches holds the visitors' benches by id.
type benches struct {
	mu      sync.Mutex
	byID    map[string]*bench
	closed  bool
	closing sync.WaitGroup // runtimes that are being closed
}

// open makes a bench, or returns nil if there are too many. The one that has been
// unused for longest makes room, if its visitor has left.
func (s *benches) open() (*bench, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	if len(s.byID) >= maxBenches && !s.evict() {
		return nil, nil
	}
	b, err := newBench(rand.Text(), &s.closing)
	if err != nil {
		return nil, err
	}
	s.byID[b.id] = b
	b.idle = time.AfterFunc(maxIdle, func() { s.expire(b) })
	return b, nil
}

// evict drops the bench that has been without sockets for longest. The caller
// holds s.mu.
func (s *benches) evict() bool {
	var oldest *bench
	var since time.Time
	for _, b := range s.byID {
		if used, inUse := b.usage(); !inUse && (oldest == nil || used.Before(since)) {
			oldest, since = b, used
		}
	}
	if oldest == nil {
		return false
	}
	s.drop(oldest)
	return true
}

// expire drops a bench that has been idle for maxIdle, and otherwise looks again
// later.
func (s *benches) expire(b *bench) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, inUse := b.usage()
	if left := maxIdle - time.Since(used); inUse || left > 0 {
		b.idle.Reset(max(left, time.Minute))
		return
	}
	s.drop(b)
}

func (s *benches) drop(b *bench) {
	delete(s.byID, b.id)
	b.idle.Stop()
	b.close()
}

func (s *benches) find(id string) *bench {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.byID[id]
	if b != nil {
		b.touch()
	}
	return b
}

func (s *benches) close() {
	s.mu.Lock()
	s.closed = true
	for _, b := range s.byID {
		s.drop(b)
	}
	s.mu.Unlock()
	s.closing.Wait()
}

// openBench answers POST /demo: a bench for one visitor.
func (h *Handler) openBench(w http.ResponseWriter, r *http.Request) {
	b, err := h.benches.open()
	switch {
	case err != nil:
		h.opts.Logger.Error("a bench was not opened", "error", err)
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
