package wstransport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// The time that a peer has. A message may take longer than silence, and silence longer than
// two pings.
const (
	pingInterval   = 15 * time.Second
	pongWait       = 40 * time.Second
	messageTimeout = time.Minute
	writeTimeout   = 30 * time.Second
	firstRequest   = 30 * time.Second
	closeGrace     = time.Second
)

// The memory that a peer can take. go-sdk keeps the two messages that open a session until
// it ends; bytesPerConnection bounds the initialize messages of all connections together.
const (
	maxCalls           = 100 // in flight on one connection
	maxUnread          = 64 << 20
	maxInitialize      = 64 << 10
	maxInitialized     = 4 << 10
	bytesPerConnection = 2 << 10
)

// A conn is the [mcp.Connection] over one WebSocket. Every failure, on either side
// of it, goes through [conn.finish] exactly once.
type conn struct {
	ws      *websocket.Conn
	link    inflight.Link
	extra   *mcp.RequestExtra   // for each request; nil on the client's side
	refused func(reason string) // hears why a call is not taken; nil on the client's side

	readTurn  chan struct{} // held while reading from ws
	readBuf   bytes.Buffer  // guarded by readTurn
	writeTurn chan struct{} // held while writing a message to ws
	unread    atomic.Int64  // bytes of messages that wait to be written

	born      time.Time
	due       atomic.Int64 // the age at which the peer must be heard again, or its message be whole
	reading   atomic.Bool  // the first frame of a message has come, and not the last
	requested atomic.Bool

	opened *inflight.Counter // bytes of the initialize messages of all connections; nil on the client's side
	kept   int               // those of the longest one of this connection

	endOnce  sync.Once
	ended    chan struct{} // closed when the connection is no longer used
	cause    error         // why; set before ended is closed
	released chan struct{} // closed when the socket is
}

func newConn(ws *websocket.Conn, maxMessage int64) *conn {
	c := &conn{
		ws:        ws,
		readTurn:  make(chan struct{}, 1),
		writeTurn: make(chan struct{}, 1),
		born:      time.Now(),
		ended:     make(chan struct{}),
		released:  make(chan struct{}),
	}
	c.expect(pongWait)
	ws.SetReadLimit(maxMessage)
	// finish answers a close frame, so that a reader never waits for a writer that is stuck.
	ws.SetCloseHandler(func(int, string) error { return nil })
	heard := func() {
		if !c.reading.Load() { // a message has a time of its own
			c.expect(pongWait)
		}
	}
	ws.SetPongHandler(func(string) error { heard(); return nil })
	pong := ws.PingHandler()
	ws.SetPingHandler(func(data string) error { heard(); return pong(data) })
	return c
}

// SessionID implements [mcp.Connection]. Nobody can come back to a connection.
func (c *conn) SessionID() string { return "" }

// take waits for a turn.
func (c *conn) take(ctx context.Context, turn chan struct{}) error {
	select {
	case <-c.ended:
		return c.cause
	default:
	}
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return c.cause
	}
}

// Read implements [mcp.Connection]. Its error is the end of the connection:
// [io.EOF] when either side closed it with 1000. A context that ends during a
// read ends the connection too, for half a message cannot be put back.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, answer, err := c.receive(ctx)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			if c.refused != nil && inflight.IsRefusal(answer) {
				c.refused(reason(answer))
			}
			if err := c.Write(ctx, answer); err != nil {
				return nil, err
			}
		}
		if req, ok := msg.(*jsonrpc.Request); ok && c.extra != nil {
			extra := *c.extra // a handler may write to its own
			req.Extra = &extra
		}
		if msg != nil {
			return msg, nil
		}
	}
}

// receive reads one message in turn, for [inflight.Link.Receive].
func (c *conn) receive(ctx context.Context) (jsonrpc.Message, *jsonrpc.Response, error) {
	if err := c.take(ctx, c.readTurn); err != nil {
		return nil, nil, err
	}
	defer func() { <-c.readTurn }()
	defer context.AfterFunc(ctx, func() {
		_ = c.finish(ending{code: websocket.CloseNormalClosure, cause: context.Cause(ctx)})
		_ = c.ws.SetReadDeadline(time.Now())
	})()
	c.expect(pongWait) // counted from here, not from when this end was busy
	kind, r, err := c.ws.NextReader()
	if err != nil {
		return nil, nil, c.finish(diagnose(err))
	}
	if kind != websocket.TextMessage {
		return nil, nil, c.end(websocket.CloseUnsupportedData, "messages must be text")
	}
	c.reading.Store(true)
	c.expect(messageTimeout)
	c.readBuf.Reset()
	_, err = c.readBuf.ReadFrom(r)
	c.reading.Store(false)
	if err != nil {
		return nil, nil, c.finish(diagnose(err))
	}
	text := c.readBuf.Bytes()
	if cap(text) > inflight.KeptBuffer {
		c.readBuf = bytes.Buffer{}
	}
	msg, answer, err := c.link.Receive(text)
	if err != nil {
		return nil, nil, c.end(websocket.CloseInvalidFramePayloadData, err.Error())
	}
	return msg, answer, nil
}

// reason is why a call is not taken, in the words of [HandlerOptions.Refused].
func reason(answer *jsonrpc.Response) string {
	why := answer.Error.(*jsonrpc.Error)
	switch {
	case why.Code == inflight.CodeBusy && why.Message == inflight.ErrFull.Error():
		return "overload"
	case why.Code == inflight.CodeBusy:
		return "share"
	case why.Code == jsonrpc.CodeInvalidRequest, why.Code == jsonrpc.CodeInvalidParams:
		return "ambiguous"
	}
	return "shutdown"
}

// admit bounds what go-sdk keeps of a legacy client until its session ends.
func (c *conn) admit(req *jsonrpc.Request) *jsonrpc.Error {
	if req.IsCall() && req.Method != "ping" {
		c.requested.Store(true)
	}
	size := len(req.Params)
	switch {
	case req.Method == "initialize" && size > maxInitialize, req.Method == "notifications/initialized" && size > maxInitialized:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too long a message to open a session"}
	case req.Method == "initialize" && size > c.kept: // go-sdk keeps one of them
		if err := c.opened.Enter(c.link.Who, size-c.kept); err != nil {
			return inflight.Busy(err)
		}
		c.kept = size
	}
	return nil
}

// over gives back what the connection was counted for. Its handlers have returned.
func (c *conn) over() {
	c.link.Over()
	c.opened.Leave(c.link.Who, c.kept)
}

func (c *conn) expect(within time.Duration) { c.due.Store(int64(time.Since(c.born) + within)) }

// watch pings the peer until the connection ends, and ends it when the peer is silent or
// slow, makes no request, or the token that opened the connection expires.
func (c *conn) watch() {
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	late := time.NewTimer(pongWait)
	defer late.Stop()
	var first, expired <-chan time.Time
	if c.extra != nil {
		first = time.After(firstRequest)
		if token := c.extra.TokenInfo; token != nil && !token.Expiration.IsZero() {
			expired = time.After(time.Until(token.Expiration))
		}
	}
	for {
		select {
		case <-c.ended:
			return
		case <-expired:
			_ = c.end(websocket.ClosePolicyViolation, "the bearer token expired")
		case <-first:
			if !c.requested.Load() {
				_ = c.end(websocket.ClosePolicyViolation, "no request was made")
			}
		case <-late.C:
			slow := c.reading.Load()
			switch left := time.Duration(c.due.Load()) - time.Since(c.born); {
			case left > 0:
				late.Reset(left)
			case slow:
				_ = c.end(websocket.ClosePolicyViolation, fmt.Sprintf("a message took longer than %v", messageTimeout))
			default:
				_ = c.end(websocket.CloseInternalServerErr, fmt.Sprintf("nothing was heard for %v", pongWait))
			}
		case <-ping.C:
			if err := c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)); err != nil {
				_ = c.finish(ending{cause: lost(err)})
			}
		}
	}
}

// Write implements [mcp.Connection]. It returns when the message is with the operating
// system. If ctx ends first, a message that is already on its way still arrives whole.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.link.Unpingable(msg) {
		return message.ErrUnpingable
	}
	if !c.link.Claim(msg) {
		return nil
	}
	size := int64(4 << 10) // takes a message that waits, even without content
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		size += int64(len(msg.Params))
	case *jsonrpc.Response:
		size += int64(len(msg.Result))
	}
	if waiting := c.unread.Add(size); waiting > maxUnread && waiting > size {
		_ = c.finish(ending{cause: lost(fmt.Errorf("the peer left %d bytes unread", waiting-size))})
	}
	if err := c.take(ctx, c.writeTurn); err != nil {
		c.unread.Add(-size)
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, err)
		}
		return err
	}
	if ctx.Done() == nil {
		return c.writeInTurn(msg, size)
	}
	written := make(chan error, 1)
	go func() { written <- c.writeInTurn(msg, size) }()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream leads middleware to the client.
type stream struct{ c *conn }

func (s *stream) Tasks(id any) []string { return s.c.link.Tasks(id) }

func (s *stream) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.c.Write(ctx, &jsonrpc.Request{Method: method, Params: params})
}

// writeInTurn writes msg and gives up the turn.
func (c *conn) writeInTurn(msg jsonrpc.Message, size int64) error {
	defer func() {
		c.unread.Add(-size)
		<-c.writeTurn
	}()
	text, err := c.link.Encode(msg)
	if err != nil {
		return err
	}
	times, awaited := c.link.Settle(msg)
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout)) // never fails: it is kept for the next write
	for range times {
		err := c.ws.WriteMessage(websocket.TextMessage, text)
		if errors.Is(err, websocket.ErrCloseSent) {
			<-c.ended
			return fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, c.cause)
		}
		if err != nil {
			return c.finish(ending{cause: lost(err)})
		}
	}
	if awaited {
		c.link.Written()
	}
	return nil
}
