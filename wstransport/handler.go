package wstransport

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/inflight"
	"github.com/mrtr-go/sdk/internal/progress"
)

// A Handler is an [http.Handler] that serves MCP on each WebSocket connection
// that is made to it, as [Accept] describes.
//
// ServeHTTP returns when the session has ended. The context of each handler
// holds the values of the request that opened the connection. When that
// request's context ends, for instance because its base context did, the
// connection is closed with 1001 at once.
type Handler struct {
	getServer         func(*http.Request) *mcp.Server
	gate              *gate
	connections, load *inflight.Counter
	opened            *inflight.Counter // bytes of initialize messages
	retired           atomic.Bool

	mu      sync.Mutex
	closing bool
	served  map[*served]struct{}
}

// A served is one call of ServeHTTP.
type served struct {
	conn atomic.Pointer[conn] // nil until there is one
	done chan struct{}
}

// NewHandler returns a handler that serves each connection with the server that
// getServer returns for it; one server may serve many. A connection for
// which it returns nil is refused with 400. The error is a [*UsageError] about the
// options.
func NewHandler(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions) (*Handler, error) {
	if getServer == nil {
		return nil, usage("getServer is nil")
	}
	g, err := newGate(opts)
	if err != nil {
		return nil, err
	}
	o := &g.options
	return &Handler{
		getServer:   getServer,
		gate:        g,
		connections: inflight.New(o.MaxConnections, o.MaxConnectionsPerPrincipal),
		load:        inflight.New(o.MaxCalls, o.MaxCallsPerPrincipal),
		opened:      inflight.New(o.MaxConnections*bytesPerConnection+int(o.MaxInitializeBytes), 0),
		served:      make(map[*served]struct{}),
	}, nil
}

// ServeHTTP implements [http.Handler]. After [Handler.Shutdown] it answers 503.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := &served{done: make(chan struct{})}
	if !h.enter(s) {
		h.gate.refuse(w, r, &RefusedError{StatusCode: http.StatusServiceUnavailable, Message: "shutting down"})
		return
	}
	defer h.leave(s)
	if refused := h.gate.check(r); refused != nil {
		h.gate.refuse(w, r, refused)
		return
	}
	who := principal(r)
	if err := h.connections.Enter(who, 1); err != nil {
		h.gate.refuse(w, r, tooMany(err))
		return
	}
	defer h.connections.Leave(who, 1)
	server := h.getServer(r)
	if server == nil {
		h.gate.refuse(w, r, &RefusedError{StatusCode: http.StatusBadRequest, Message: "no server available"})
		return
	}
	progress.Order(server)
	log := h.gate.log.With("remote", r.RemoteAddr)
	c, err := h.gate.upgrade(w, r)
	if err != nil {
		log.Warn("websocket handshake failed", "error", err)
		return
	}
	defer func() {
		<-c.released
		c.calls.Over()
		c.opening.over()
	}()
	c.calls.Load, c.calls.Who = h.load, who
	c.opening.all = h.opened
	s.conn.Store(c)
	if h.isClosing() { // Shutdown may have come before the connection could be seen
		c.goAway()
	}
	session, err := server.Connect(r.Context(), &transport{conn: c}, nil)
	if err != nil {
		_ = c.end(websocket.CloseInternalServerErr, "the session could not be started")
		log.Error("websocket session not started", "error", err)
		return
	}
	defer context.AfterFunc(r.Context(), c.goAway)()
	logEnd(log, session.Wait())
}

// principal is who a request is from, by its token; empty if nobody knows.
func principal(r *http.Request) string {
	if token := auth.TokenInfoFromContext(r.Context()); token != nil {
		return token.UserID
	}
	return ""
}

func tooMany(err error) *RefusedError {
	status := http.StatusTooManyRequests
	if errors.Is(err, inflight.ErrFull) {
		status = http.StatusServiceUnavailable
	}
	return &RefusedError{StatusCode: status, Message: err.Error()}
}

func logEnd(log *slog.Logger, err error) {
	if err != nil {
		log.Warn("websocket session ended", "error", err)
		return
	}
	log.Debug("websocket session ended")
}

func (h *Handler) enter(s *served) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.served[s] = struct{}{}
	return true
}

func (h *Handler) isClosing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closing
}

func (h *Handler) leave(s *served) {
	h.mu.Lock()
	delete(h.served, s)
	h.mu.Unlock()
	close(s.done)
}

// Shutdown closes every connection with 1001 and refuses new ones with 503. A
// connection on which requests are running is closed after the last of them is
// answered; those that still come in get a JSON-RPC error with the code 1001, too.
// Subscriptions are completed. When the context ends first, Shutdown answers what
// still runs with that error, closes the connections, which cancels the requests,
// and returns the context's error, at most two seconds later.
//
// [http.Server.Shutdown] does not touch connections that were upgraded, so both
// are needed.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closing = true
	open := slices.Collect(maps.Keys(h.served))
	h.mu.Unlock()
	// All refuse new calls before the first one closes: whoever sees that knows
	// that the server is going.
	var idle []*conn
	for _, s := range open {
		if c := s.conn.Load(); c != nil && c.calls.Drain() {
			idle = append(idle, c)
		}
	}
	for _, c := range idle {
		c.goAway()
	}
	for _, s := range open {
		select {
		case <-s.done:
		case <-ctx.Done():
			cutOff(open)
			return ctx.Err()
		}
	}
	return nil
}

// cutOff closes the connections that Shutdown has no time left for, and returns
// when the close frames are sent.
func cutOff(open []*served) {
	for _, s := range open {
		if c := s.conn.Load(); c != nil {
			c.goAway()
		}
	}
	for _, s := range open {
		if c := s.conn.Load(); c != nil {
			<-c.released
		}
	}
}
