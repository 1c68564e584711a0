package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/unread"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
	"github.com/mrtr-go/sdk/transport/internal/origin"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
)

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	unread.Bound(w, r, h.limits.body)
	if h.refused != nil {
		w = &doorkeeper{ResponseWriter: w, tell: h.refused}
	}
	if !h.Ready() { // so that no connection closes under a request that is on its way
		w.Header().Set("Connection", "close")
	}
	if err := h.guard.Check(r); err != nil {
		reason := byOrigin
		if errors.Is(err, origin.ErrForeignHost) {
			reason = byHost
		}
		refusedBy(w, reason)
		http.Error(w, "Forbidden: "+err.Error(), http.StatusForbidden)
		return
	}
	if h.preflight(w, r) {
		return
	}
	if name := disagreement(r.Header); name != "" {
		refuseDisagreement(w, r, name)
		return
	}
	raw, ok := h.readBody(w, r)
	if !ok {
		return
	}
	modern := r.Header.Get(versionHeader) >= era.FirstModern
	if r.Method != http.MethodPost {
		if modern || h.stateful == nil {
			h.stateless.ServeHTTP(w, r) // refuses it
		} else {
			h.serveStream(w, r)
		}
		return
	}
	if modern {
		r = fixHeaders(r)
		if call := h.lean.Read(r, raw); call != nil {
			h.work(w, r, raw, 1, func(p *reply, r *http.Request) { call.Serve(p, r) })
			return
		}
	}
	h.serveMessages(w, r, raw, modern)
}

// serveMessages serves a POST that is not lean: whatever go-sdk would read otherwise than
// others do is refused first. modern is what its headers say.
func (h *Handler) serveMessages(w http.ResponseWriter, r *http.Request, raw []byte, modern bool) {
	messages, err := split(raw)
	if err != nil {
		refuseMalformed(w, err)
		return
	}
	if refuseAltered(w, messages) || modern && refuseOtherTask(w, r, messages) {
		refusedBy(w, byAmbiguity)
		return
	}
	raw, refused := settle(w, messages, isBatch(raw))
	if refused {
		refusedBy(w, byAmbiguity)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	if modern { // go-sdk refuses a batch
		h.serveModern(w, r, raw, 1)
		return
	}
	body, ok := readContents(w, messages)
	if !ok {
		return
	}
	if body.modern {
		h.serveModern(w, r, raw, len(body.calls))
		return
	}
	if err := body.tooLarge(h.initialize); err != nil {
		refusedBy(w, bySize)
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if h.dropLate(r, messages, body.cancels) {
		raw = joined(messages, isBatch(raw))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	}
	w = &callsWriter{ResponseWriter: w, messages: messages, batch: isBatch(raw)}
	if h.stateful == nil {
		h.work(w, r, raw, len(body.calls), through(h.stateless))
		return
	}
	h.serveLegacy(w, r, raw, body)
}

// serveModern hands the request to the stateless handler. A subscription lives
// as long as its client wants, so Shutdown ends it and does not wait for it. Its
// method is read from the header, which go-sdk compares with the body, but on
// modern requests alone.
func (h *Handler) serveModern(w http.ResponseWriter, r *http.Request, raw []byte, calls int) {
	if r.Header.Get(versionHeader) >= era.FirstModern {
		w = &paramsWriter{ResponseWriter: w}
	}
	if r.Header.Get(versionHeader) >= era.FirstModern && r.Header.Get(methodHeader) == inflight.Listen {
		if h.door.Closed() {
			refuseWork(w)
			return
		}
		if why := inflight.Listening(message.Member(raw, "params")); why != nil {
			writeRefusal(w, idOf(raw), why)
			return
		}
		h.admit(w, r, raw, calls, h.listening, func(p *reply, r *http.Request) {
			h.stateless.ServeHTTP(p, r.WithContext(rendezvous.WithStream(r.Context(), &stream{p, raw})))
		})
		return
	}
	h.work(w, r, raw, calls, through(h.stateless))
}

// serveStream handles methods other than POST: the standing stream of a session,
// and the end of one, which is never refused.
func (h *Handler) serveStream(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodDelete && h.door.Closed() {
		refuseWork(w)
		return
	}
	if r.Method == http.MethodDelete {
		h.serveEnd(w, r)
		return
	}
	p := h.newReply(w, false)
	defer p.end()
	h.stateful.ServeHTTP(p, r)
}

// serveLegacy hands a POST to the stateful handler. A message of a session that is
// no call (the answer to a question, a cancellation) passes while the server
// drains and whatever else is in flight, because the running calls wait for it.
func (h *Handler) serveLegacy(w http.ResponseWriter, r *http.Request, raw []byte, body contents) {
	session := r.Header.Get(sessionHeader)
	if session != "" {
		defer h.sessions.use(session, inflight.Principal(r))()
	}
	if session == "" && len(body.subscribes) > 0 { // beside an initialize nobody would count them
		writeError(w, nil, jsonrpc.CodeInvalidRequest, "a subscription needs a session")
		return
	}
	if err := h.sessions.subscribe(session, inflight.Principal(r), body.subscribes); err != nil {
		refuseCalls(w, raw, err)
		return
	}
	if session != "" && len(body.calls) == 0 {
		h.stateful.ServeHTTP(w, r)
		return
	}
	h.work(w, r, raw, len(body.calls), func(w *reply, r *http.Request) {
		posted := r.Context().Value(postKey{}).(*post)
		over := func() bool { return r.Context().Err() != nil }
		if session == "" && body.opens {
			if !h.openSession(w, life.posts.name(r, posted), body.kept) {
				return
			}
		} else {
			call, first := h.sessions.repeats(session, inflight.Principal(r), body, raw, posted)
			if call != nil && !first {
				posted.began = true // what it waits for
				serveRepeat(w, r, call)
				return
			}
			if call != nil {
				posted.call = call
				over = func() bool { return call.Leave(true) != nil && r.Context().Err() != nil }
			}
			if err := h.sessions.enter(session, inflight.Principal(r), body.calls, posted); err != nil {
				over()
				refuseCalls(w, raw, err)
				return
			}
			h.stateful.ServeHTTP(w, life.posts.name(r, posted))
		}
		if over() {
			posted.cancel(context.Cause(r.Context()))
		}
	})
}

// serveRepeat answers a POST whose call another one made. The last client that waits for a
// call and hangs up ends it.
func serveRepeat(w *reply, r *http.Request, call *inflight.Repeat) {
	answer, err := call.Await(r.Context())
	end := call.Leave(false)
	if err == nil {
		w.event(answer)
	} else if end != nil {
		end(context.Cause(r.Context()))
	}
}

// openSession serves a request with an initialize. If it returns false it has refused
// the request.
func (h *Handler) openSession(w http.ResponseWriter, r *http.Request, bytes int64) bool {
	place := h.sessions.claim(r, bytes)
	if place == nil {
		refusedBy(w, byLoad)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
		return false
	}
	h.stateful.ServeHTTP(w, r)
	id := w.Header().Get(sessionHeader)
	if id == "" || !h.exists(r.Context(), id) { // go-sdk closes one that was not initialized
		h.sessions.give(place)
		return true
	}
	h.sessions.opened(place, id)
	return true
}

func through(h http.Handler) func(*reply, *http.Request) {
	return func(p *reply, r *http.Request) { h.ServeHTTP(p, r) }
}

// work serves a request that Shutdown waits for.
func (h *Handler) work(w http.ResponseWriter, r *http.Request, raw []byte, calls int, serve func(*reply, *http.Request)) {
	if !h.door.Enter() {
		refuseWork(w)
		return
	}
	defer h.door.Leave()
	h.admit(w, r, raw, calls, h.serving, serve)
}

// admit serves a request unless its client has too many calls in flight, and ends
// its context when over is, if not before. A client without a token is known by
// its connection. A call is in flight until its handler has returned, which may be
// long after its client hung up.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, raw []byte, calls int, over context.Context, serve func(*reply, *http.Request)) {
	who := inflight.Who{Principal: inflight.Principal(r), Connection: r.RemoteAddr}
	calls = max(calls, 1)
	if err := h.load.Enter(who, calls); err != nil {
		refuseCalls(w, raw, err)
		return
	}
	posted := &post{free: []func(int){func(n int) { h.load.Leave(who, n) }}}
	defer posted.end(calls)
	ctx, cancel := endingWith(r.Context(), func() error { return whyOver(r.Context(), over) }, r.Context(), over)
	defer cancel()
	ctx = context.WithValue(ctx, postKey{}, posted)
	session := r.Header.Get(sessionHeader) != ""
	// The header of a response that opens a session names the session.
	p := h.newReply(w, h.stateful == nil || r.Header.Get(versionHeader) >= era.FirstModern || session)
	defer p.end()
	p.batch = calls > 1
	if !p.batch {
		p.status = func(h http.Header) int { return posted.status(h, session) }
	}
	if ctx.Err() == nil { // go-sdk would begin some calls of a client that is gone, and not others
		serve(p, r.WithContext(ctx))
	}
	if over.Err() != nil && r.Context().Err() == nil {
		p.answerRest(raw, posted, r.Header.Get(versionHeader) >= era.FirstModern)
	}
}
