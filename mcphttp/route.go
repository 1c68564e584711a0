package mcphttp

import (
	"context"
	"net/http"

	"github.com/mrtr-go/sdk/era"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
)

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.guard.Check(r); err != nil {
		http.Error(w, "Forbidden: "+err.Error(), http.StatusForbidden)
		return
	}
	if h.stateful == nil || r.Header.Get(versionHeader) >= era.FirstModern {
		h.serveModern(w, r)
		return
	}
	if r.Method != http.MethodPost {
		h.serveStream(w, r)
		return
	}
	body, ok := readBody(w, r, h.maxBytes)
	if !ok {
		return
	}
	if body.modern {
		h.serveModern(w, r)
		return
	}
	if err := body.tooLarge(h.maxInitialize); err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	h.serveLegacy(w, r, body)
}

// serveModern hands the request to the stateless handler. A subscription lives
// as long as its client wants, so Shutdown ends it and does not wait for it. Its
// method is read from the header, which go-sdk compares with the body, but on
// modern requests alone.
func (h *Handler) serveModern(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) >= era.FirstModern && r.Header.Get(methodHeader) == "subscriptions/listen" {
		if h.calls.draining() {
			refuseWork(w)
			return
		}
		r, done := until(r, h.listening)
		defer done()
		h.stateless.ServeHTTP(w, r)
		return
	}
	if !h.calls.enter() {
		refuseWork(w)
		return
	}
	defer h.calls.leave()
	r, done := until(r, h.serving)
	defer done()
	h.stateless.ServeHTTP(w, r)
}

// serveStream handles methods other than POST: the standing stream of a session,
// and the end of one, which is never refused.
func (h *Handler) serveStream(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodDelete && h.calls.draining() {
		refuseWork(w)
		return
	}
	h.stateful.ServeHTTP(w, r)
	if id := r.Header.Get(sessionHeader); r.Method == http.MethodDelete && !h.exists(r.Context(), id) {
		h.sessions.forget(id)
	}
}

// serveLegacy hands a POST to the stateful handler. A message of a session that is
// no call (the answer to a question, a cancellation) passes while the server
// drains, because the running calls wait for it.
func (h *Handler) serveLegacy(w http.ResponseWriter, r *http.Request, body contents) {
	session := r.Header.Get(sessionHeader)
	if session != "" {
		defer h.sessions.use(session, principal(r))()
	}
	if session != "" && len(body.calls) == 0 {
		h.stateful.ServeHTTP(w, r)
		return
	}
	if !h.calls.enter() {
		refuseWork(w)
		return
	}
	defer h.calls.leave()
	r, done := until(r, h.serving)
	defer done()
	if session == "" && body.opens {
		var ok bool
		if session, ok = h.openSession(w, r, body.kept); !ok {
			return
		}
	} else {
		h.stateful.ServeHTTP(w, r)
	}
	if r.Context().Err() != nil && session != "" && len(body.calls) > 0 {
		h.cancelCalls(r, session, body.calls)
	}
}

// openSession serves a request with an initialize, and returns the id of the
// session that it opened, empty where it opened none. Where it returns false it
// has refused the request.
func (h *Handler) openSession(w http.ResponseWriter, r *http.Request, bytes int64) (string, bool) {
	place := h.sessions.claim(r, bytes)
	if place == nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
		return "", false
	}
	h.stateful.ServeHTTP(w, r)
	id := w.Header().Get(sessionHeader)
	if id == "" || !h.exists(r.Context(), id) { // go-sdk closes one that was not initialized
		h.sessions.give(place)
		return id, true
	}
	h.sessions.opened(place, id)
	return id, true
}

// until ends a request's context when over is, if not before.
func until(r *http.Request, over context.Context) (*http.Request, func()) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(over, cancel)
	return r.WithContext(ctx), func() { stop(); cancel() }
}

func refuseWork(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "shutting down", http.StatusServiceUnavailable)
}
