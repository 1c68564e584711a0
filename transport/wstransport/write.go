package wstransport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// Write implements [mcp.Connection]. It returns when the message is with the
// operating system, or with an error:
//
//   - the context's, when it ends first. If the message is already on its way
//     it still arrives whole, and holds the others up for as long as
//     Limits.WriteTimeout;
//   - one that wraps [mcp.ErrConnectionClosed] when the connection has ended;
//   - the reason why the connection ends now: the peer is gone, did not accept the
//     message within Limits.WriteTimeout, or left Limits.MaxUnreadBytes unread.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if resp, ok := msg.(*jsonrpc.Response); ok && !inflight.IsRefusal(resp) && !c.calls.Claim(resp.ID) {
		return nil
	}
	if c.extra != nil && message.IsPing(msg) && !c.pinged.Load() {
		return message.ErrUnpingable
	}
	size := sizeOf(msg)
	if waiting := c.unread.Add(size); waiting > c.limits.MaxUnreadBytes && waiting > size {
		_ = c.finish(ending{cause: lost(fmt.Errorf("the peer left %d bytes unread", waiting-size))})
	}
	if err := c.takeToWrite(ctx, c.line); err != nil {
		c.unread.Add(-size)
		return err
	}
	if err := c.takeToWrite(ctx, c.writeTurn); err != nil {
		<-c.line
		c.unread.Add(-size)
		return err
	}
	if ctx.Done() == nil {
		return c.writeInTurn(msg)
	}
	written := make(chan error, 1)
	go func() { written <- c.writeInTurn(msg) }()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sizeOf is the size of the parameters or the result that a message carries.
func sizeOf(msg jsonrpc.Message) int64 {
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		return int64(len(msg.Params))
	case *jsonrpc.Response:
		return int64(len(msg.Result))
	}
	return 0
}

func (c *conn) takeToWrite(ctx context.Context, ch chan struct{}) error {
	err := c.take(ctx, ch)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, err)
	}
	return err
}

// writeInTurn writes msg and gives up the turn and the place in the line.
func (c *conn) writeInTurn(msg jsonrpc.Message) error {
	defer func() {
		c.unread.Add(-sizeOf(msg))
		<-c.writeTurn
		<-c.line
	}()
	data, err := message.Append(c.writeBuf[:0], msg)
	if err != nil {
		return err
	}
	if c.largeIDs.Load() {
		data = message.RestoreLarge(data)
	}
	if cap(data) <= keptBuffer {
		c.writeBuf = data
	}
	awaited, again := false, 0
	if resp, ok := msg.(*jsonrpc.Response); ok && !inflight.IsRefusal(resp) {
		awaited, again = c.calls.Settle(resp.ID)
	}
	_ = c.ws.SetWriteDeadline(time.Now().Add(c.limits.WriteTimeout)) // never fails: it is kept for the next write
	for range 1 + again {
		if err = c.ws.WriteMessage(websocket.TextMessage, data); err != nil {
			break
		}
	}
	switch {
	case err == nil:
		if awaited && c.calls.Written() {
			c.goAway()
		}
		return nil
	case errors.Is(err, websocket.ErrCloseSent):
		<-c.ended
		return fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, c.cause)
	}
	return c.finish(ending{cause: lost(c.notRead(err))})
}

// notRead says of an error of writing, of a message or a ping, that the peer did not read.
func (c *conn) notRead(err error) error {
	if netErr := (net.Error)(nil); errors.As(err, &netErr) && netErr.Timeout() {
		return fmt.Errorf("the peer did not read for %v: %w", c.limits.WriteTimeout, err)
	}
	return err
}
