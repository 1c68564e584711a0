package mcphttp

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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
	if name := disagreement(r.Header); name != "" {
		refuseDisagreement(w, r, name)
		return
	}
	if h.stateful == nil || r.Header.Get(versionHeader) >= era.FirstModern {
		if r, ok := keepID(w, r, h.maxBody); ok {
			h.serveModern(w, r)
		}
		return
	}
	if r.Method != http.MethodPost {
		h.serveStream(w, r)
		return
	}
	body, ok := readBody(w, r, h.maxBody)
	if !ok {
		return
	}
	if body.modern {
		h.serveModern(w, r)
	} else {
		h.serveLegacy(w, r, body.calls)
	}
}

// serveModern hands the request to the stateless handler. A subscription lives
// as long as its client wants, so Shutdown ends it and does not wait for it. Its
// method is read from the header, which go-sdk compares with the body, but on
// modern requests alone.
func (h *Handler) serveModern(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) >= era.FirstModern {
		r = mendHeaders(r)
		w = &paramsWriter{ResponseWriter: w}
	}
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
	if r.Method == http.MethodDelete {
		h.endSession(w, r)
		return
	}
	h.stateful.ServeHTTP(w, r)
}

// serveLegacy hands a POST to the stateful handler. A message of a session that is
// no call (the answer to a question, a cancellation) passes while the server
// drains, because the running calls wait for it.
func (h *Handler) serveLegacy(w http.ResponseWriter, r *http.Request, calls []jsonrpc.ID) {
	session := r.Header.Get(sessionHeader)
	if session != "" && len(calls) == 0 {
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
	if session == "" {
		var o *opening
		r, o = expectSession(r)
		h.stateful.ServeHTTP(w, r)
		session = w.Header().Get(sessionHeader)
		h.sessions.add(o.session(session))
	} else {
		leave := h.legacyCalls.enter(session, calls)
		h.stateful.ServeHTTP(w, r)
		leave()
	}
	if r.Context().Err() != nil && session != "" && len(calls) > 0 {
		h.cancelCalls(r, session, calls)
	}
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
