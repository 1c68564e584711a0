package mcphttp

import "context"

// Shutdown drains the handler. From now on new calls and streams get 503 with
// Retry-After; subscriptions end; calls that are running go on to their end, and
// the answers they wait for still come through. When the last one is done the
// legacy sessions are closed, and Shutdown returns nil.
//
// Where ctx ends first, the calls that still run are cancelled and answered with a
// JSON-RPC error with the code 1001, the sessions are closed without waiting for
// them, and Shutdown returns ctx's error. Subscriptions are completed. It does not
// close any listener: call it before [net/http.Server.Shutdown], which would
// otherwise wait for the streams that only this can end.
func (h *Handler) Shutdown(ctx context.Context) error {
	idle := h.calls.drain()
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
