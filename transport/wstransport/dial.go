package wstransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// handshakeTimeout bounds a handshake whose context has no deadline.
const handshakeTimeout = 30 * time.Second

// dialWriteBuffer is the size of the pieces in which a client sends: it masks its
// messages, which takes a buffer, and makes one system call a piece.
const dialWriteBuffer = 16 << 10

// dialWriteBuffers are lent to connections while they write.
var dialWriteBuffers sync.Pool

// Dial opens a connection to a ws:// or wss:// address and returns the transport
// over it, to be passed to [mcp.Client.Connect] once. The context bounds
// the handshake only. A proxy is taken from the environment.
//
// A server that answers with an HTTP status gives a [*RefusedError]. One that
// upgrades without selecting the subprotocol is closed with 1002 and gives an
// error.
func Dial(ctx context.Context, url string, opts *DialOptions) (mcp.Transport, error) {
	if opts == nil {
		opts = &DialOptions{}
	}
	limits, err := opts.withDefaults(clientMaxMessage)
	if err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		TLSClientConfig:  opts.TLSConfig,
		HandshakeTimeout: handshakeTimeout,
		Subprotocols:     []string{Subprotocol},
		WriteBufferSize:  dialWriteBuffer,
		WriteBufferPool:  &dialWriteBuffers,
	}
	ws, resp, err := dialer.DialContext(ctx, url, opts.Header)
	if errors.Is(err, websocket.ErrBadHandshake) {
		body, _ := io.ReadAll(resp.Body) // the dialer has cut it to a kilobyte, in memory
		return nil, &RefusedError{
			StatusCode: resp.StatusCode,
			Header:     resp.Header,
			Message:    strings.TrimSpace(string(body)),
		}
	}
	if err != nil {
		return nil, fmt.Errorf("wstransport: dialing %s: %w", url, err)
	}
	c := newConn(ws, limits)
	if ws.Subprotocol() != Subprotocol {
		return nil, c.end(websocket.CloseProtocolError, fmt.Sprintf("the server did not select the subprotocol %q", Subprotocol))
	}
	return &transport{conn: c}, nil
}
