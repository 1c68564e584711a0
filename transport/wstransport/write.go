package wstransport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/internal/message"
)

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
