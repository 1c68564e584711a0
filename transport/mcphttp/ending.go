package mcphttp

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

// endingPatience is how long a DELETE waits for handlers that were cancelled.
const endingPatience = time.Second

// serveEnd hands a DELETE to go-sdk, which first waits for all calls of the
// session, an hour if a user does not answer. They are cancelled here, as
// nobody will read their results. If a handler does not heed that, the client
// gets 202: the session takes no more calls and ends when the handler does.
func (h *Handler) serveEnd(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get(sessionHeader)
	for _, p := range h.sessions.posts(session, inflight.Principal(r)) {
		p.cancel(context.Canceled)
	}
	e, first := h.sessions.ends(session, inflight.Principal(r))
	if first {
		r = r.Clone(context.WithoutCancel(r.Context())) // it may outlive the request
		r.Body = http.NoBody
		go func() {
			defer close(e.over)
			h.stateful.ServeHTTP(&e.answer, r)
			h.sessions.ended(session, e, !h.exists(r.Context(), session))
		}()
	}
	patience := time.NewTimer(endingPatience)
	defer patience.Stop()
	select {
	case <-e.over:
		e.answer.copyTo(w)
	case <-patience.C:
		w.WriteHeader(http.StatusAccepted)
	}
}

// ending is the end of a session that a DELETE has begun. One that comes again waits for it too: it
// would leave a goroutine behind for as long as a handler does not heed its cancellation.
type ending struct {
	answer answer
	over   chan struct{} // closed when the answer is there
}

// answer holds a short response until somebody wants it.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

func (a *answer) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = w.Write(a.body) // the client may be gone
}

// sessionRequestKey marks requests that the handler makes of go-sdk's handler itself. The
// caller's getServer does not hear of them: they concern sessions that exist.
type sessionRequestKey struct{}

func exceptSessionRequests(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	return func(r *http.Request) *mcp.Server {
		if r.Context().Value(sessionRequestKey{}) != nil {
			return nil
		}
		return getServer(r)
	}
}

// sessionRequest makes a request that concerns a session.
func sessionRequest(ctx context.Context, method, session string, body []byte) *http.Request {
	ctx = context.WithValue(context.WithoutCancel(ctx), sessionRequestKey{}, true)
	r, _ := http.NewRequestWithContext(ctx, method, "/", io.NopCloser(bytes.NewReader(body))) // fails on a bad method or address alone
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(sessionHeader, session)
	return r
}

// endSession closes a session in go-sdk, and waits for its handlers.
func (h *Handler) endSession(s *session) {
	h.stateful.ServeHTTP(discard{}, sessionRequest(s.ctx, http.MethodDelete, s.id, nil))
}

// exists reports whether go-sdk knows a session. It refuses an empty body of one
// that it knows, and a session that it does not know before it reads the body.
func (h *Handler) exists(ctx context.Context, session string) bool {
	var answer status
	h.stateful.ServeHTTP(&answer, sessionRequest(ctx, http.MethodPost, session, nil))
	return answer != http.StatusNotFound
}

// discard takes the response to a request of our own.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// status takes such a response and keeps its status.
type status int

func (*status) Header() http.Header         { return http.Header{} }
func (*status) Write(p []byte) (int, error) { return len(p), nil }
func (s *status) WriteHeader(code int)      { *s = status(code) }

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
func (h *Handler) ServeReady(w http.ResponseWriter, r *http.Request) {
	h.door.ServeReady(w, r)
}
