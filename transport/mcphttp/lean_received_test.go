package mcphttp_test

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// received is the client's end of a response: what arrives there, and when.
type received struct {
	start  time.Time
	header http.Header // as the handler writes it
	lean   bool        // the request went past go-sdk's HTTP layer

	mu     sync.Mutex
	buffer []byte // not flushed
	left   bool   // the client has hung up

	Status  int
	Sent    http.Header              // the header, as it was when the response began
	Arrived map[time.Duration]string // what was flushed at each time
	Unread  map[time.Duration]string // and when the client was gone
	Over    time.Duration            // when the response ended
}

func newReceived(start time.Time) *received {
	return &received{start: start, header: http.Header{}, Arrived: map[time.Duration]string{}, Unread: map[time.Duration]string{}}
}

func (w *received) Header() http.Header { return w.header }

func (w *received) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(status)
}

func (w *received) begin(status int) {
	if w.Status == 0 {
		w.Status, w.Sent = status, maps.Clone(w.header)
	}
}

func (w *received) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(http.StatusOK)
	w.buffer = append(w.buffer, p...)
	return len(p), nil
}

func (w *received) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
}

func (w *received) flush() {
	w.begin(http.StatusOK)
	at := w.Arrived
	if w.left {
		at = w.Unread
	}
	if len(w.buffer) > 0 {
		at[time.Since(w.start)] += string(w.buffer)
	}
	w.buffer = nil
}

func (w *received) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	w.Over = time.Since(w.start)
}

func (w *received) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = true
}

func (w *received) length() (bytes int) {
	for _, part := range w.Arrived {
		bytes += len(part)
	}
	for _, part := range w.Unread {
		bytes += len(part)
	}
	return bytes
}
