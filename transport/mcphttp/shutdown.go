package mcphttp

import (
	"context"
	"net/http"
)

// Shutdown drains the handler. From now on new calls and streams get 503 with
// Retry-After; subscriptions end; calls that are running go on to their end, and
// the answers they wait for still come through. When the last one is done the
// legacy sessions are closed, and Shutdown returns nil.
//
// If ctx ends first, the calls that still run are cancelled, the sessions are closed
// without waiting for them, and Shutdown returns ctx's error. What a handler has returned
// by then goes out. A call without a result is answered with a JSON-RPC error: with the
// code -31001 if its handler had not begun, so that the same request may be sent again, and
// otherwise with 1001, since what it did is not known. Subscriptions are completed. It does not
// close any listener: call it before [net/http.Server.Shutdown], which would
// otherwise wait for the streams that only this can end.
func (h *Handler) Shutdown(ctx context.Context) error {
	idle := h.door.Close()
	h.unlisten()
	select {
	case <-idle:
	case <-ctx.Done():
		h.abort()
	}
	h.cut()
	closed := h.sessions.closeAll()
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

// Retire tells load balancers that this server is about to stop: [Handler.ServeReady]
// answers 503 from now on. Everything is served as before, since calls that are under
// way go on to come here, and each connection ends with its response: none is left that
// looks usable when the server closes it.
func (h *Handler) Retire() { h.door.Retire() }

// Ready reports whether new clients should be sent here: until [Handler.Retire] or
// [Handler.Shutdown].
func (h *Handler) Ready() bool { return h.door.Ready() }

// ServeReady answers a load balancer that asks whether new clients should be sent here:
// 200 with "ready", or 503 with "not ready" if [Handler.Ready] is false. It checks no
// host and no origin. Mount it on a path of its own:
//
//	mux.HandleFunc("/ready", handler.ServeReady)
//
// wstransport.Handler has the same three methods. A server that has both lets the load
// balancer ask one of them, and retires both.
func (h *Handler) ServeReady(w http.ResponseWriter, _ *http.Request) {
	h.door.ServeReady(w)
}
