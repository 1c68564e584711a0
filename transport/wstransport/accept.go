package wstransport

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/usage"
)

// Accept upgrades one request and returns the transport over the connection, to
// be passed to [mcp.Server.Connect] once, with the context of r for the sake of
// its values. A [Handler] does all of this, and shuts down as well.
//
// Every request that the session then receives carries, in its Extra, the header
// of r and the [auth.TokenInfo] that [auth.RequireBearerToken] put into its
// context. The connection is closed with 1008 when that token expires.
//
// When r is refused, Accept has answered it and returns a [*RefusedError]: 403
// for a foreign origin or host, 426 for a request that is no WebSocket
// handshake, 400 for one that does not offer the subprotocol or is malformed.
// Invalid options are answered with 500 and returned as they are.
func Accept(w http.ResponseWriter, r *http.Request, opts *HandlerOptions) (mcp.Transport, error) {
	g, err := newGate(opts)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return nil, err
	}
	if refused := g.check(r); refused != nil {
		g.refuse(w, r, refused)
		return nil, refused
	}
	c, err := g.upgrade(w, r)
	if err != nil {
		return nil, err
	}
	return &transport{conn: c}, nil
}

func (g *gate) upgrade(w http.ResponseWriter, r *http.Request) (*conn, error) {
	var refused *RefusedError
	upgrader := websocket.Upgrader{
		HandshakeTimeout: g.options.Limits.WriteTimeout,
		Subprotocols:     []string{Subprotocol},
		CheckOrigin:      func(*http.Request) bool { return true }, // the gate has
		Error: func(w http.ResponseWriter, r *http.Request, status int, reason error) {
			refused = &RefusedError{StatusCode: status, Message: reason.Error()}
			g.refuse(w, r, refused)
		},
	}
	ws, err := upgrader.Upgrade(framing{w}, r, nil)
	if refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	c := newConn(ws, g.options.Limits)
	c.firstRequest = g.options.FirstRequestTimeout
	c.calls.Most = g.options.MaxCallsPerConnection
	c.refused = g.options.Refused
	c.opening.most = g.options.MaxInitializeBytes
	c.extra = &mcp.RequestExtra{
		TokenInfo: auth.TokenInfoFromContext(r.Context()),
		Header:    r.Header.Clone(),
	}
	return c, nil
}

// A transport is a connection that is open already and waits for its session.
type transport struct {
	conn *conn
	used atomic.Bool
}

// Connect implements [mcp.Transport].
func (t *transport) Connect(context.Context) (mcp.Connection, error) {
	if t.used.Swap(true) {
		return nil, usage.New("wstransport", "a transport serves one session")
	}
	go t.conn.watch()
	return t.conn, nil
}
