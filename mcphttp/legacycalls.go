package mcphttp

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// endingPatience is how long a DELETE waits for handlers that were cancelled.
const endingPatience = time.Second

// legacyCalls are the calls in flight of each session, by its id.
type legacyCalls struct {
	mu      sync.Mutex
	running map[string]map[jsonrpc.ID]struct{}
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
// session, an hour where a user does not answer. They are cancelled here, as
// nobody will read their results. Where a handler does not heed that, the client
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
