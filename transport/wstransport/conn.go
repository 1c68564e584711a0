package wstransport

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

// maxLine is how many messages may wait in line to be written, and keptBuffer
// the largest buffer that outlives its message.
const (
	maxLine    = 64
	keptBuffer = 64 << 10
)

// A conn is the [mcp.Connection] over one WebSocket. Every failure, on either side
// of it, goes through [conn.finish] exactly once.
type conn struct {
	ws     *websocket.Conn
	limits Limits
	// refused hears why a call is not taken; nil if nobody does.
	refused func(reason string)
	extra   *mcp.RequestExtra // for each request; nil on the client's side

	readTurn chan struct{} // held while reading from ws
	// All guarded by readTurn.
	readBuf    bytes.Buffer
	heard      time.Time // when the read deadline was last moved
	by         time.Time // when the message that is being read must be whole; zero between messages
	peerClosed bool

	line      chan struct{} // places for those who write; a reader passes through it
	writeTurn chan struct{} // held while writing a message to ws
	writeBuf  []byte        // guarded by writeTurn

	unread atomic.Int64 // bytes of messages that wait to be written

	firstRequest time.Duration // how long the peer may make none; no limit if zero
	requested    atomic.Bool
	largeIDs     atomic.Bool // one was received
	pinged       atomic.Bool // the client initialized, and answers pings

	calls         inflight.Calls // of the peer
	subscriptions inflight.Subscriptions
	opening       opening

	endOnce  sync.Once
	ended    chan struct{} // closed when the connection is no longer used
	cause    error         // why; set before ended is closed
	released chan struct{} // closed when the socket is
}

func newConn(ws *websocket.Conn, limits Limits) *conn {
	c := &conn{
		ws:        ws,
		limits:    limits,
		readTurn:  make(chan struct{}, 1),
		line:      make(chan struct{}, maxLine),
		writeTurn: make(chan struct{}, 1),
		ended:     make(chan struct{}),
		released:  make(chan struct{}),
	}
	ws.SetReadLimit(limits.MaxMessageBytes)
	// The answer to a close frame is left to finish, so that a reader never
	// waits for a writer that is stuck.
	ws.SetCloseHandler(func(int, string) error { return nil })
	ws.SetPongHandler(func(string) error { return c.hear(time.Now()) })
	pong := ws.PingHandler()
	ws.SetPingHandler(func(data string) error {
		if err := c.hear(time.Now()); err != nil {
			return err
		}
		return pong(data)
	})
	return c
}

// SessionID implements [mcp.Connection]. It is empty: see the package
// documentation.
func (c *conn) SessionID() string { return "" }

// take waits for a place in ch.
func (c *conn) take(ctx context.Context, ch chan struct{}) error {
	select {
	case <-c.ended:
		return c.cause
	default:
	}
	select {
	case ch <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return c.cause
	}
}

// Close implements [mcp.Connection]. It does not wait for the peer, but a Read
// that is under way does, for as long as Limits.closeGrace.
func (c *conn) Close() error {
	_ = c.finish(ending{code: websocket.CloseNormalClosure, cause: io.EOF})
	return nil
}
