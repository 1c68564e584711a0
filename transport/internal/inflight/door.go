package inflight

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// Door lets requests in until a shutdown, and knows when the last of them has left.
type Door struct {
	retired atomic.Bool

	mu     sync.Mutex
	inside int           // guarded by mu
	empty  chan struct{} // guarded by mu: made by Close, closed when nobody is inside
}

// Enter lets a request in, or reports false because the door is closed.
func (d *Door) Enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.empty != nil {
		return false
	}
	d.inside++
	return true
}

// Leave is called for each request that was let in.
func (d *Door) Leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	if d.inside == 0 && d.empty != nil {
		close(d.empty)
	}
}

// Close lets nobody else in. The channel is closed when nobody is inside.
func (d *Door) Close() (empty <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.empty == nil {
		d.empty = make(chan struct{})
		if d.inside == 0 {
			close(d.empty)
		}
	}
	return d.empty
}

// Closed reports whether Close was called.
func (d *Door) Closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.empty != nil
}

// Retire ends readiness and nothing else.
func (d *Door) Retire() { d.retired.Store(true) }

// Ready reports whether new clients should come: until Retire or Close.
func (d *Door) Ready() bool { return !d.retired.Load() && !d.Closed() }

// ServeReady answers a load balancer: 200 with "ready", or 503 with "not ready". The
// answer must not be cached, since it changes when the server is about to stop.
func (d *Door) ServeReady(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	if !d.Ready() {
		w.Header().Set("Connection", "close")
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ready\n") // the asker may be gone
}

// refusedHeader says why a request was refused, for whoever passes requests on. A server
// that is overloaded answers 503 as well, and there another instance is no better.
const refusedHeader, shuttingDown = "Mrtr-Refused", "shutting_down"

// Refuse marks a response as the refusal of a server that shuts down: another instance may
// take the request.
func Refuse(h http.Header) {
	h.Set("Retry-After", "5")
	h.Set(refusedHeader, shuttingDown)
}

// Retiring reports whether a response is such a refusal.
func Retiring(h http.Header) bool { return h.Get(refusedHeader) == shuttingDown }
