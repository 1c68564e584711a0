package mcphttp

import (
	"context"
	"sync"
)

// Shutdown drains the handler. From now on new calls and streams get 503 with
// Retry-After; subscriptions end; calls that are running go on to their end, and
// the answers they wait for still come through. When the last one is done the
// legacy sessions are closed, and Shutdown returns nil.
//
// Where ctx ends first, the calls that still run are cancelled, the sessions are
// closed without waiting for them, and Shutdown returns ctx's error. It does not
// close any listener: call it before [net/http.Server.Shutdown], which would
// otherwise wait for the streams that only this can end.
func (h *Handler) Shutdown(ctx context.Context) error {
	idle := h.work.shut()
	h.unlisten()
	select {
	case <-idle:
	case <-ctx.Done():
		h.abort()
	}
	closed := h.sessions.close()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work counts the calls in flight.
type work struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // made when closing, closed when nothing runs
}

// enter reports whether there may be one more.
func (k *work) enter() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle != nil {
		return false
	}
	k.running++
	return true
}

func (k *work) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running--
	if k.running == 0 && k.idle != nil {
		close(k.idle)
	}
}

func (k *work) closing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.idle != nil
}

// shut lets nothing more in and returns a channel that closes when all is done.
func (k *work) shut() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle == nil {
		k.idle = make(chan struct{})
		if k.running == 0 {
			close(k.idle)
		}
	}
	return k.idle
}
