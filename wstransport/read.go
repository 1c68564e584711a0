package wstransport

import (
	"bytes"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/inflight"
	"github.com/mrtr-go/sdk/internal/message"
)

// Read implements [mcp.Connection]. Its error is the end of the connection:
// [io.EOF] when either side closed it with 1000. A context that ends during a
// read ends the connection too, for half a message cannot be put back.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, ambiguous, err := c.readNext(ctx)
		if err != nil {
			return nil, err
		}
		req, ok := msg.(*jsonrpc.Request)
		if !ok && ambiguous != nil { // the question has to end
			return &jsonrpc.Response{ID: msg.(*jsonrpc.Response).ID, Error: ambiguous}, nil
		}
		if !ok {
			return msg, nil
		}
		if req.IsCall() && req.Method != "ping" {
			c.requested.Store(true)
		}
		if req.IsCall() {
			why := ambiguous
			if why == nil && c.extra != nil {
				if why = c.opening.note(req); why == nil {
					why = c.subscriptions.Note(req.Method, req.Params)
				}
			}
			if why == nil {
				why = c.calls.Begin(req)
			}
			if why != nil {
				if err := c.Write(ctx, inflight.Refused(req.ID, why)); err != nil {
					return nil, err
				}
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

// readNext waits until this end may read, and reads one message. ambiguous says why
// the answers in it are refused, nil where they are not.
func (c *conn) readNext(ctx context.Context) (msg jsonrpc.Message, ambiguous *jsonrpc.Error, _ error) {
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

func (c *conn) readInTurn() (msg jsonrpc.Message, ambiguous *jsonrpc.Error, _ error) {
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
	msg, err = message.Decode(data)
	if err != nil {
		return nil, nil, c.end(websocket.CloseInvalidFramePayloadData, err.Error())
	}
	if !c.largeIDs.Load() && message.HasLarge(msg) {
		c.largeIDs.Store(true)
	}
	if c.extra != nil { // a client's
		if name, found := message.Ambiguous(data); found {
			ambiguous = message.AmbiguousError(name)
		}
	}
	return msg, ambiguous, nil
}
