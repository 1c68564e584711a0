package page

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/options"
)

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

func newBenches() *benches { return &benches{byID: map[string]*bench{}} }

// open makes a bench, nil where there are too many. The one that was unused
// for longest makes room, if its visitor has left.
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

// expire drops a bench that was idle for its time, and looks again later where
// it was not.
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
