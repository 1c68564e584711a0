package wstransport

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
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
	door              inflight.Door     // of the calls of ServeHTTP

	mu   sync.Mutex
	open map[*conn]struct{} // guarded by mu
}

// NewHandler returns a handler that serves each connection with the server that
// getServer returns for it; one server may serve many. A connection for
// which it returns nil is refused with 400. The error is a [*UsageError] about the
// options.
func NewHandler(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions) (*Handler, error) {
	if getServer == nil {
		return nil, usage.New("wstransport", "getServer is nil")
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
		opened:      inflight.New(bytesOfAll(o), bytesOfAll(o)),
		open:        make(map[*conn]struct{}),
	}, nil
}

// bytesOfAll bounds the initialize messages of all connections. Whoever has a share finds
// room for one in it.
func bytesOfAll(o *HandlerOptions) int {
	return o.MaxConnections*bytesPerConnection + 2*int(o.MaxInitializeBytes)
}

// ServeHTTP implements [http.Handler]. After [Handler.Shutdown] it answers 503.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.door.Enter() {
		inflight.Refuse(w.Header())
		h.gate.refuse(w, r, &RefusedError{StatusCode: http.StatusServiceUnavailable, Message: "shutting down", why: byShutdown})
		return
	}
	defer h.door.Leave()
	if refused := h.gate.check(r); refused != nil {
		h.gate.refuse(w, r, refused)
		return
	}
	who := inflight.Who{Principal: inflight.Principal(r)}
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
	rendezvous.OrderProgress(server)
	log := h.gate.log.With("remote", r.RemoteAddr)
	c, err := h.gate.upgrade(w, r)
	if err != nil {
		log.Warn("websocket handshake failed", "error", err)
		return
	}
	c.calls.Load, c.calls.Who = h.load, who
	c.opening.all, c.opening.who = h.opened, who
	defer h.opens(c)()
	defer func() {
		<-c.released
		c.calls.Over()
		c.opening.over()
	}()
	if h.door.Closed() { // Shutdown may have come before the connection could be seen
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

func tooMany(err error) *RefusedError {
	if errors.Is(err, inflight.ErrFull) {
		return &RefusedError{StatusCode: http.StatusServiceUnavailable, Message: err.Error(), why: byLoad}
	}
	return &RefusedError{StatusCode: http.StatusTooManyRequests, Message: err.Error(), why: byShare}
}

func logEnd(log *slog.Logger, err error) {
	if err != nil {
		log.Warn("websocket session ended", "error", err)
		return
	}
	log.Debug("websocket session ended")
}

// opens notes a connection until the function it returns is called.
func (h *Handler) opens(c *conn) (closed func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[c] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.open, c)
	}
}

func (h *Handler) conns() []*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.open))
}

// Shutdown closes every connection with 1001 and refuses new ones with 503. A
// connection on which requests are running is closed after the last of them is
// answered; those that still come in get a JSON-RPC error with the code -31001, by which
// they may be sent again. Subscriptions are completed. When the context ends first, the
// answers that exist go out, and Shutdown answers what still runs with the code 1001, since
// what it did is not known. It closes the connections, which cancels the requests, and
// returns the context's error, at most two seconds later.
//
// [http.Server.Shutdown] does not touch connections that were upgraded, so both
// are needed.
func (h *Handler) Shutdown(ctx context.Context) error {
	empty := h.door.Close()
	// All refuse new calls before the first one closes: whoever sees that knows
	// that the server is going.
	var idle []*conn
	for _, c := range h.conns() {
		if c.calls.Drain() {
			idle = append(idle, c)
		}
	}
	for _, c := range idle {
		c.goAway()
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		h.cutOff()
		return ctx.Err()
	}
}

// cutOff closes the connections that Shutdown has no time left for, and returns
// when the close frames are sent.
func (h *Handler) cutOff() {
	open := h.conns()
	for _, c := range open {
		c.goAway()
	}
	for _, c := range open {
		<-c.released
	}
}

// Retire tells load balancers that this server is about to stop: [Handler.ServeReady]
// answers 503 from now on. Everything is served as before, new connections included,
// since a client whose connection broke may come back for a call that is under way.
func (h *Handler) Retire() { h.door.Retire() }

// Ready reports whether new clients should be sent here: until [Handler.Retire] or
// [Handler.Shutdown].
func (h *Handler) Ready() bool { return h.door.Ready() }

// ServeReady answers a load balancer that asks whether new clients should be sent here:
// 200 with "ready", or 503 with "not ready" if [Handler.Ready] is false. It is a plain
// HTTP answer without an upgrade, and checks no host and no origin. Mount it on a path of
// its own:
//
//	mux.HandleFunc("/ready", handler.ServeReady)
//
// mcphttp.Handler has the same three methods.
func (h *Handler) ServeReady(w http.ResponseWriter, _ *http.Request) {
	h.door.ServeReady(w)
}
