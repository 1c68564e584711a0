package wstransport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/usage"
)

// UsageError is a mistake in the options of this package or in the way it is called.
type UsageError = usage.Error

// A RefusedError is a handshake that a server answered with an HTTP response.
type RefusedError struct {
	StatusCode int
	// Header is the response's, for instance to read Www-Authenticate.
	Header http.Header
	// Message is the body of the response, up to the first kilobyte.
	Message string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("wstransport: refused with status %d: %s", e.StatusCode, e.Message)
}

// writeBuffers are lent to connections while they mask what they write.
var writeBuffers sync.Pool

// DialOptions configure [Dial]. Nil, and the zero value, mean the defaults.
type DialOptions struct {
	// MaxMessageBytes bounds a message of the server's, such as a result with images;
	// 16 MiB if zero. A negative one is an error.
	MaxMessageBytes int64
	// Header is sent with the handshake, for instance Authorization.
	Header http.Header
	// TLSConfig is for wss addresses; nil is the default configuration.
	TLSConfig *tls.Config
}

// Dial opens a connection to a ws:// or wss:// address and returns the transport
// over it, to be passed to [mcp.Client.Connect] once. The context bounds
// the handshake only, which takes 30 seconds at most. A proxy is taken from the environment.
// A server that answers with an HTTP status gives a [*RefusedError].
func Dial(ctx context.Context, url string, opts *DialOptions) (mcp.Transport, error) {
	var o DialOptions
	if opts != nil {
		o = *opts
	}
	u := usage.Of("wstransport", "DialOptions")
	usage.Default(u, "MaxMessageBytes", &o.MaxMessageBytes, 16<<20)
	if err := u.Err(); err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		TLSClientConfig:  o.TLSConfig,
		HandshakeTimeout: 30 * time.Second,
		Subprotocols:     []string{Subprotocol},
		WriteBufferSize:  16 << 10,
		WriteBufferPool:  &writeBuffers,
	}
	ws, resp, err := dialer.DialContext(ctx, url, o.Header)
	if errors.Is(err, websocket.ErrBadHandshake) {
		body, _ := io.ReadAll(resp.Body) // the dialer has cut it to a kilobyte, in memory
		return nil, &RefusedError{StatusCode: resp.StatusCode, Header: resp.Header, Message: strings.TrimSpace(string(body))}
	}
	if err != nil {
		return nil, fmt.Errorf("wstransport: dialing %s: %w", url, err)
	}
	c := newConn(ws, o.MaxMessageBytes)
	if ws.Subprotocol() != Subprotocol {
		return nil, c.end(websocket.CloseProtocolError, fmt.Sprintf("the server did not select the subprotocol %q", Subprotocol))
	}
	return &transport{conn: c}, nil
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
