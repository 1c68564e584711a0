package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endingPatience is how long a DELETE waits for handlers that were cancelled.
const endingPatience = time.Second

// legacyCalls are the calls in flight of each session, by its id.
type legacyCalls struct {
	mu      sync.Mutex
	running map[string]map[jsonrpc.ID]struct{} // guarded by mu
}

// enter records calls until the function it returns is called. An id that is
// running already is not recorded twice: go-sdk refuses the second call.
func (c *legacyCalls) enter(session string, calls []jsonrpc.ID) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[string]map[jsonrpc.ID]struct{}{}
	}
	of := c.running[session]
	if of == nil {
		of = map[jsonrpc.ID]struct{}{}
		c.running[session] = of
	}
	var mine []jsonrpc.ID
	for _, id := range calls {
		if _, taken := of[id]; !taken {
			of[id] = struct{}{}
			mine = append(mine, id)
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, id := range mine {
			delete(of, id)
		}
		if len(of) == 0 {
			delete(c.running, session)
		}
	}
}

func (c *legacyCalls) of(session string) []jsonrpc.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.running[session]))
}

// serveEnd hands a DELETE to go-sdk, which first waits for all calls of the
// session, an hour if a user does not answer. They are cancelled here, as
// nobody will read their results. If a handler does not heed that, the client
// gets 202: the session takes no more calls and ends when the handler does.
func (h *Handler) serveEnd(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get(sessionHeader)
	for _, id := range h.legacyCalls.of(session) {
		notice := r.Clone(r.Context())
		notice.Method = http.MethodPost
		notice.Header.Set("Content-Type", "application/json")
		notice.Header.Set("Accept", "application/json, text/event-stream")
		// go-sdk ignores it unless the user is the session's.
		h.cancelCalls(notice, session, []jsonrpc.ID{id})
	}
	answer := &answer{header: http.Header{}}
	ending := r.Clone(context.WithoutCancel(r.Context())) // it may outlive the request
	ending.Body = http.NoBody
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.stateful.ServeHTTP(answer, ending)
		if !h.exists(ending.Context(), session) {
			h.sessions.forget(session)
		}
	}()
	patience := time.NewTimer(endingPatience)
	defer patience.Stop()
	select {
	case <-ended:
		answer.copyTo(w)
	case <-patience.C:
		w.WriteHeader(http.StatusAccepted)
	}
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

// cancelCalls cancels the calls of a request whose client hung up, by sending the
// session the notification that the client would have sent. An id that was
// answered in the meantime is unknown by now, and go-sdk ignores it.
func (h *Handler) cancelCalls(r *http.Request, session string, calls []jsonrpc.ID) {
	notice := sessionRequest(r.Context(), http.MethodPost, session, cancellation(calls))
	notice.Header.Set(versionHeader, r.Header.Get(versionHeader))
	h.stateful.ServeHTTP(discard{}, notice)
}

// cancellation is the body that cancels calls. It is a batch only if there
// are several, which came in one batch themselves: later revisions refuse any.
func cancellation(calls []jsonrpc.ID) []byte {
	notices := make([][]byte, 0, len(calls))
	for _, id := range calls {
		// It holds strings and numbers alone, whose encoding cannot fail.
		params, _ := json.Marshal(&mcp.CancelledParams{RequestID: id.Raw(), Reason: "the client hung up"})
		notice, _ := jsonrpc.EncodeMessage(&jsonrpc.Request{Method: "notifications/cancelled", Params: params})
		notices = append(notices, notice)
	}
	if len(notices) == 1 {
		return notices[0]
	}
	return bytes.Join([][]byte{[]byte("["), bytes.Join(notices, []byte(",")), []byte("]")}, nil)
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
