package wstransport

import (
	"bytes"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// Read implements [mcp.Connection]. Its error is the end of the connection:
// [io.EOF] when either side closed it with 1000. A context that ends during a
// read ends the connection too, for half a message cannot be put back.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, refused, err := c.readNext(ctx)
		if err != nil {
			return nil, err
		}
		req, ok := msg.(*jsonrpc.Request)
		if !ok && refused != nil { // the question has to end
			return &jsonrpc.Response{ID: msg.(*jsonrpc.Response).ID, Error: refused}, nil
		}
		if !ok {
			return msg, nil
		}
		if !req.IsCall() && (refused != nil || c.calls.Late(req)) { // a notification has no answer
			continue
		}
		if req.IsCall() && req.Method != "ping" {
			c.requested.Store(true)
		}
		if req.IsCall() && req.Method == "initialize" {
			c.pinged.Store(true)
		}
		if req.IsCall() {
			why := refused
			if why == nil && c.extra != nil {
				if why = c.opening.note(req); why == nil {
					why = c.subscriptions.Note(req.Method, req.Params)
				}
			}
			again := false
			if why == nil {
				again, why = c.calls.Begin(req)
			}
			if why != nil {
				c.tell(why)
				if err := c.Write(ctx, inflight.Refused(req.ID, why)); err != nil {
					return nil, err
				}
			}
			if why != nil || again {
				continue
			}
		}
		if req.Method == "notifications/initialized" && len(req.Params) > maxInitialized {
			return nil, c.end(websocket.CloseMessageTooBig, fmt.Sprintf("notifications/initialized is over %d bytes", maxInitialized))
		}
		if c.extra != nil {
			extra := *c.extra // a handler may write to its own
			req.Extra = &extra
		}
		return req, nil
	}
}

// readNext waits until this end may read, and reads one message. refused says why it
// must not be taken, nil if it may.
func (c *conn) readNext(ctx context.Context) (msg jsonrpc.Message, refused *jsonrpc.Error, _ error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	// Whoever reads stands in the writers' line first: see Memory in the
	// package documentation. Two peers that both write and do not read block
	// each other until a write times out, which is better than growing.
	if err := c.take(ctx, c.line); err != nil {
		return nil, nil, err
	}
	<-c.line
	if err := c.take(ctx, c.readTurn); err != nil {
		return nil, nil, err
	}
	defer func() { <-c.readTurn }()
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() {
			_ = c.finish(ending{code: websocket.CloseNormalClosure, cause: context.Cause(ctx)})
			_ = c.ws.SetReadDeadline(time.Now())
		})
		defer stop()
	}
	// Silence is counted from here, not from when the line was long.
	if err := c.hearLately(); err != nil {
		return nil, nil, c.finish(c.diagnose(err))
	}
	return c.readInTurn()
}

func (c *conn) readInTurn() (msg jsonrpc.Message, refused *jsonrpc.Error, _ error) {
	kind, r, err := c.ws.NextReader()
	if err != nil {
		return nil, nil, c.finish(c.diagnose(err))
	}
	if kind != websocket.TextMessage {
		return nil, nil, c.end(websocket.CloseUnsupportedData, "messages must be text")
	}
	now := time.Now()
	c.by = now.Add(c.limits.MessageTimeout)
	if c.heard.Add(c.limits.PongWait).After(c.by) {
		if err := c.hear(now); err != nil {
			return nil, nil, c.finish(c.diagnose(err))
		}
	}
	c.readBuf.Reset()
	if _, err := c.readBuf.ReadFrom(hearing{c, r}); err != nil {
		return nil, nil, c.finish(c.diagnose(err))
	}
	c.by = time.Time{}
	if c.limits.PongWait > c.limits.MessageTimeout { // the message had less time than silence has
		if err := c.hear(time.Now()); err != nil {
			return nil, nil, c.finish(c.diagnose(err))
		}
	}
	data := c.readBuf.Bytes()
	if c.readBuf.Cap() > keptBuffer {
		c.readBuf = bytes.Buffer{}
	}
	if !utf8.Valid(data) {
		return nil, nil, c.end(websocket.CloseInvalidFramePayloadData, "text must be UTF-8")
	}
	if c.extra != nil { // a client's
		refused = message.Refusal(data)
	}
	msg, err = message.Decode(data)
	if err != nil {
		return nil, nil, c.end(websocket.CloseInvalidFramePayloadData, err.Error())
	}
	if !c.largeIDs.Load() && message.HasLarge(msg) {
		c.largeIDs.Store(true)
	}
	return msg, refused, nil
}

// opening bounds the initialize messages of a legacy client, which go-sdk keeps until
// the session ends. They are read in turn.
type opening struct {
	most int64
	all  *inflight.Counter // bytes of all connections; nil if there is one alone
	who  inflight.Who      // whose they are
	kept int
}

// note returns an error when a request is an initialize that is too large to keep.
func (o *opening) note(req *jsonrpc.Request) *jsonrpc.Error {
	if req.Method != "initialize" {
		return nil
	}
	if int64(len(req.Params)) > o.most {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("initialize exceeds %d bytes", o.most)}
	}
	// A second one takes the place of the first, but may come before that is known.
	if o.all != nil {
		if err := o.all.Enter(o.who, len(req.Params)); err != nil {
			return &jsonrpc.Error{Code: inflight.CodeBusy, Message: err.Error()}
		}
	}
	o.kept += len(req.Params)
	return nil
}

// over gives back the bytes of the connection.
func (o *opening) over() {
	if o.all != nil {
		o.all.Leave(o.who, o.kept)
	}
}
