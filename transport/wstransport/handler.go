// Package wstransport carries the Model Context Protocol over WebSocket, for
// servers and clients, as transports of go-sdk.
//
// A [Handler] serves every connection of an HTTP endpoint; [Dial] is the client's side.
// Both speak the subprotocol "mcp" and nothing else: one JSON-RPC message is one text
// message, and batches are not messages. Compression is never negotiated.
//
// Both eras of the protocol work on one connection. Requests of 2026-07-28 and
// later say their version in _meta and ask through incomplete results. Legacy
// clients initialize first and are asked over the connection, which runs both
// ways. As over stdio, a connection is one session without an id: nobody can come back.
//
// # How a connection ends
//
// The close code says why:
//
//	1000  the session was closed
//	1001  the server is shutting down, or the context of its request ended
//	1002  the peer broke the framing rules of WebSocket
//	1003  a binary message
//	1007  a text message that is not UTF-8, or not exactly one JSON-RPC message
//	1008  the bearer token that opened the connection expired, no request came
//	      within 30 seconds, or a message took longer than a minute
//	1009  a message over MaxMessageBytes
//	1011  nothing was heard from the peer for 40 seconds, pongs included
//
// A peer that does not read for 30 seconds, or leaves more than 64 MiB of several messages
// unread, is dropped without a code: the message it did not take is half sent, and a close
// frame cannot follow half a message. It sees 1006, as it does when this end is killed.
//
// Text that is no JSON-RPC message closes the connection and is not answered
// with a parse error. go-sdk ends a session on the first message that it cannot
// read, and after an error without an id the peer would wait forever for the call
// that it belongs to.
//
// However it ends, the context of every request that is running is cancelled as
// soon as this end notices, and its open questions to the client return an error.
// [context.Cause] of such a context, and the Wait method of the session, give a
// [*CloseError] when either side sent a code other than 1000. After 1000 the cause is
// [io.EOF], and Wait returns nil.
package wstransport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/unread"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/origin"
)

// A Handler is an [http.Handler] that serves MCP on each WebSocket connection.
//
// Every request of a session carries, in its Extra, the header of the handshake, without a key
// or a trace, and the [auth.TokenInfo] that [auth.RequireBearerToken] put into its context. When
// that token expires, the connection is closed with 1008.
//
// ServeHTTP returns when the session has ended. The contexts of its calls hold the values
// of the request that opened it. When that request's context ends, for instance because its
// base context did, the connection is closed with 1001 at once.
type Handler struct {
	getServer         func(*http.Request) *mcp.Server
	options           HandlerOptions
	guard             *origin.Guard
	connections, load *inflight.Counter
	opened            *inflight.Counter // bytes of initialize messages
	door              inflight.Door     // of the calls of ServeHTTP
	open              sync.Map          // of *conn
}

// NewHandler returns a handler that serves each connection with the server that getServer
// returns for it, or refuses it with 400 if that is nil. One server may serve many
// connections. The error is a [*UsageError].
func NewHandler(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions) (*Handler, error) {
	if getServer == nil {
		return nil, usage.New("wstransport", "getServer is nil")
	}
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	guard, err := origin.NewGuard(o.AllowedHosts, o.AllowedOrigins)
	if err != nil {
		return nil, usage.New("wstransport", "HandlerOptions.%w", err)
	}
	opened := o.MaxConnections*bytesPerConnection + 2*maxInitialize // room for one in any share
	return &Handler{
		getServer:   getServer,
		options:     o,
		guard:       guard,
		connections: inflight.New(o.MaxConnections, max(1, o.MaxConnections/10)),
		load:        inflight.New(o.MaxCalls, o.MaxCallsPerPrincipal),
		opened:      inflight.New(opened, opened),
	}, nil
}

// ServeHTTP implements [http.Handler]. It answers 403 to a foreign origin or host, 426 or
// 400 to a request that is no fit handshake, and 503 after [Handler.Shutdown].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	unread.Bound(w, r, unread.Within)
	if !h.door.Enter() {
		inflight.Refuse(w.Header())
		h.refuse(w, r, "shutdown", http.StatusServiceUnavailable, "the server is shutting down")
		return
	}
	defer h.door.Leave()
	if !h.admits(w, r) {
		return
	}
	who := inflight.Who{Principal: inflight.Principal(r)}
	if err := h.connections.Enter(who, 1); err != nil {
		why, status := "share", http.StatusTooManyRequests
		if errors.Is(err, inflight.ErrFull) {
			why, status = "overload", http.StatusServiceUnavailable
		}
		h.refuse(w, r, why, status, err.Error())
		return
	}
	defer h.connections.Leave(who, 1)
	server := h.getServer(r)
	if server == nil {
		h.refuse(w, r, "handshake", http.StatusBadRequest, "no server available")
		return
	}
	rendezvous.OrderProgress(server)
	upgrader := websocket.Upgrader{
		HandshakeTimeout: writeTimeout,
		Subprotocols:     []string{Subprotocol},
		CheckOrigin:      func(*http.Request) bool { return true }, // the guard has
		Error: func(w http.ResponseWriter, r *http.Request, status int, reason error) {
			h.refuse(w, r, "handshake", status, reason.Error())
		},
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := newConn(ws, h.options.MaxMessageBytes)
	c.extra = &mcp.RequestExtra{TokenInfo: auth.TokenInfoFromContext(r.Context()), Header: r.Header.Clone()}
	for _, name := range ofOneRequest {
		c.extra.Header.Del(name)
	}
	c.refused, c.opened = h.options.Refused, h.opened
	c.link.FromClient, c.link.Admit = true, c.admit
	c.link.Most, c.link.Load, c.link.Who = maxCalls, h.load, who
	h.serve(r.Context(), server, c, h.options.Logger.With("remote", r.RemoteAddr))
}

// ofOneRequest are headers that every call of a connection would take for its own. A call says
// these things in _meta.
var ofOneRequest = []string{"Idempotency-Key", "Traceparent", "Tracestate", "Baggage"}

// admits reports whether r may be upgraded, and has refused it otherwise.
func (h *Handler) admits(w http.ResponseWriter, r *http.Request) bool {
	err := h.guard.Check(r)
	switch {
	case errors.Is(err, origin.ErrForeignHost):
		h.refuse(w, r, "host", http.StatusForbidden, "Forbidden: "+err.Error())
	case err != nil:
		h.refuse(w, r, "origin", http.StatusForbidden, "Forbidden: "+err.Error())
	case !websocket.IsWebSocketUpgrade(r):
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		h.refuse(w, r, "handshake", http.StatusUpgradeRequired, "this endpoint speaks WebSocket only")
	case !slices.Contains(websocket.Subprotocols(r), Subprotocol):
		h.refuse(w, r, "handshake", http.StatusBadRequest, fmt.Sprintf("the client must offer the subprotocol %q", Subprotocol))
	default:
		return true
	}
	return false
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, why string, status int, message string) {
	h.options.Refused(why)
	h.options.Logger.Warn("websocket handshake refused", "remote", r.RemoteAddr, "status", status, "reason", message,
		"host", r.Host, "origin", r.Header.Get("Origin"))
	http.Error(w, message, status)
}

// serve runs the session of a connection to its end.
func (h *Handler) serve(ctx context.Context, server *mcp.Server, c *conn, log *slog.Logger) {
	h.open.Store(c, nil)
	defer func() {
		<-c.released
		c.over()
		h.open.Delete(c)
	}()
	if h.door.Closed() { // Shutdown may have come before the connection could be seen
		go c.goAway(ctx)
	}
	lasting := rendezvous.WithLastingSession(rendezvous.WithStream(ctx, &stream{c}))
	session, err := server.Connect(lasting, &transport{conn: c}, nil)
	if err != nil {
		_ = c.end(websocket.CloseInternalServerErr, "the session could not be started")
		log.Error("websocket session not started", "error", err)
		return
	}
	defer context.AfterFunc(ctx, func() { c.goAway(ctx) })()
	if err := session.Wait(); err != nil {
		log.Warn("websocket session ended", "error", err)
	}
}

// Shutdown closes every connection with 1001, after the last running request is answered,
// and refuses new ones with 503. Requests that still come in get the JSON-RPC error -31001,
// by which they may be sent again. Subscriptions are completed. When ctx ends first, the
// answers that exist go out, and whatever still runs is answered with the code 1001, since
// what it did is not known, and cancelled. Shutdown then returns the error of ctx, at most
// two seconds later. [http.Server.Shutdown] does not touch connections that were upgraded.
func (h *Handler) Shutdown(ctx context.Context) error {
	empty := h.door.Close()
	var open []*conn
	h.open.Range(func(c, _ any) bool {
		open = append(open, c.(*conn))
		return true
	})
	for _, c := range open { // all refuse new calls before the first one closes
		c.link.Drain()
	}
	for _, c := range open {
		go c.goAway(ctx)
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	for _, c := range open {
		<-c.released // the close frames are sent
	}
	return ctx.Err()
}

// Retire makes [Handler.ServeReady] answer 503 from now on. Everything is served as before,
// since a client whose connection broke may come back for a call that is under way.
func (h *Handler) Retire() { h.door.Retire() }

// Ready is true until [Handler.Retire] or [Handler.Shutdown].
func (h *Handler) Ready() bool { return h.door.Ready() }

// ServeReady answers a load balancer that asks for [Handler.Ready]: 200 with "ready", or
// 503 with "not ready". Mount it on a path of its own: it checks no host and no origin.
// mcphttp.Handler has the same three methods.
func (h *Handler) ServeReady(w http.ResponseWriter, r *http.Request) { h.door.ServeReady(w, r) }

// Subprotocol is what both ends must offer and accept in the WebSocket
// handshake.
const Subprotocol = "mcp"

// HandlerOptions configure a [Handler]. Nil, and the zero value, mean the defaults.
// Negative limits are an error.
type HandlerOptions struct {
	// AllowedHosts are the lower-case names, without port, that a request's Host header may
	// carry. Loopback names are fine besides on a connection to a loopback address, and if
	// AllowedHosts is empty no others are: a page whose name was rebound to 127.0.0.1 is
	// refused, and a server behind a proxy on the same machine lists its public names here.
	// On a connection to another address any name is fine if AllowedHosts is empty.
	AllowedHosts []string
	// AllowedOrigins are the browser origins, as scheme://host or scheme://host:port, that
	// may call besides the server's own. Only requests of web pages have an origin.
	AllowedOrigins []string
	// MaxMessageBytes bounds a message of a client's; 4 MiB if zero.
	MaxMessageBytes int64
	// MaxConnections bounds the connections; 10,000 if zero. One more is refused with 503.
	// Those without a token share three quarters of them. No UserID of an auth.TokenInfo
	// has more than a tenth; one more is refused with 429.
	MaxConnections int
	// MaxCalls bounds the calls in flight, subscriptions included; 10,000 if zero. One more
	// gets the JSON-RPC error -31000, like the 101st of one connection. A call is in flight
	// until its handler has returned, cancelled or not. Those without a token share three
	// quarters of the places, and no principal has more.
	MaxCalls int
	// MaxCallsPerPrincipal bounds those of one UserID; 1,000 if zero.
	MaxCallsPerPrincipal int
	// Refused is called with the reason when a connection or a call is refused: "host",
	// "origin", "handshake", "ambiguous", "overload", "share" (too much of the load is this
	// client's) or "shutdown". It must be quick. The Refused of an otelmrtr.Observer counts them.
	Refused func(reason string)
	// Logger hears who was refused and why connections ended. Nil is silent.
	Logger *slog.Logger
}

// resolve checks the options and fills in the defaults.
func (o *HandlerOptions) resolve() (HandlerOptions, error) {
	var r HandlerOptions
	if o != nil {
		r = *o
	}
	u := usage.Of("wstransport", "HandlerOptions")
	usage.Default(u, "MaxMessageBytes", &r.MaxMessageBytes, 4<<20)
	usage.Default(u, "MaxConnections", &r.MaxConnections, 10_000)
	usage.Default(u, "MaxCalls", &r.MaxCalls, 10_000)
	usage.Default(u, "MaxCallsPerPrincipal", &r.MaxCallsPerPrincipal, 1_000)
	if r.Refused == nil {
		r.Refused = func(string) {}
	}
	r.Logger = cmp.Or(r.Logger, slog.New(slog.DiscardHandler))
	return r, u.Err()
}
