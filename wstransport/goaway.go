package wstransport

import (
	"context"

	"github.com/gorilla/websocket"
)

// goAway closes the connection because the server is going. Whatever is still owed
// gets an answer first, if the peer reads it. It does not block.
func (c *conn) goAway() {
	answers := c.calls.Take()
	if len(answers) == 0 {
		_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.limits.closeGrace)
		defer cancel()
		for _, answer := range answers {
			if c.Write(ctx, answer) != nil {
				break
			}
		}
		_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
	}()
}
