package wstransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// A CloseError is how a connection ended, when a close code was sent.
type CloseError struct {
	Code   int
	Reason string
	// Remote is true when the peer closed, false when this end did.
	Remote bool
}

func (e *CloseError) Error() string {
	text := fmt.Sprintf("closed with code %d", e.Code)
	if e.Remote {
		text = "peer " + text
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return "wstransport: " + text
}

// An ending is a close frame for the peer, none if code is 0, and an error for
// this end.
type ending struct {
	code   int
	reason string
	cause  error
	answer bool // to the peer's close frame: it will send no other
}

func broken(code int, reason string) ending {
	return ending{code: code, reason: reason, cause: &CloseError{Code: code, Reason: reason}}
}

// lost is the cause of an end without a code. Only a write times out.
func lost(err error) error {
	if netErr := (net.Error)(nil); errors.As(err, &netErr) && netErr.Timeout() {
		err = fmt.Errorf("the peer did not read for %v: %w", writeTimeout, err)
	}
	return fmt.Errorf("wstransport: connection lost: %w", err)
}

// diagnose turns an error of reading a WebSocket into an ending.
func diagnose(err error) ending {
	var closed *websocket.CloseError
	var netErr net.Error
	switch {
	case errors.As(err, &closed) && closed.Code == websocket.CloseAbnormalClosure:
		return ending{cause: lost(io.ErrUnexpectedEOF)}
	case errors.As(err, &closed) && (closed.Code == websocket.CloseNormalClosure || closed.Code == websocket.CloseNoStatusReceived):
		return ending{code: closed.Code, cause: io.EOF, answer: true}
	case errors.As(err, &closed):
		return ending{code: closed.Code, cause: &CloseError{Code: closed.Code, Reason: closed.Text, Remote: true}, answer: true}
	case errors.Is(err, websocket.ErrReadLimit):
		return broken(websocket.CloseMessageTooBig, "a message is too large")
	case errors.As(err, &netErr) || errors.Is(err, net.ErrClosed):
		return ending{cause: lost(err)}
	default: // the library has sent its own 1002 with the details
		return broken(websocket.CloseProtocolError, err.Error())
	}
}

// Close implements [mcp.Connection]. A Read that is under way waits for the peer, for a
// second at most.
func (c *conn) Close() error {
	_ = c.finish(ending{code: websocket.CloseNormalClosure, cause: io.EOF})
	return nil
}

// end closes with a code of this end's choice.
func (c *conn) end(code int, reason string) error { return c.finish(broken(code, reason)) }

// finish ends the connection and returns the cause of its end, which is that of the first
// call. The close frame is sent, and the answer awaited, behind the caller's back.
func (c *conn) finish(e ending) error {
	c.endOnce.Do(func() {
		c.cause = e.cause
		close(c.ended)
		go c.release(e)
	})
	return c.cause
}

func (c *conn) release(e ending) {
	defer close(c.released)
	giveUp := time.AfterFunc(closeGrace, func() { _ = c.ws.Close() })
	defer giveUp.Stop()
	if e.code != 0 {
		const most = 123 // what a control frame has room for
		reason := strings.ToValidUTF8(e.reason[:min(len(e.reason), most)], "")
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(e.code, reason), time.Now().Add(closeGrace))
		if !e.answer {
			c.awaitClose()
		}
	}
	_ = c.ws.Close()
}

// awaitClose reads until the peer has closed too. A socket closed with bytes
// unread is reset, and a reset can overtake the close frame.
func (c *conn) awaitClose() {
	c.readTurn <- struct{}{} // Read returns when the peer answers, or when the grace is over
	for {
		var closed *websocket.CloseError
		if _, _, err := c.ws.NextReader(); errors.As(err, &closed) {
			return
		} else if err != nil { // the framing is lost; the rest is just bytes
			_, _ = io.Copy(io.Discard, c.ws.NetConn())
			return
		}
	}
}

// goAway closes the connection because the server is going: when no answer is awaited any
// more, or ctx ends. Then answers that are on their way go out first, and whatever is still
// owed gets one, if the peer reads it.
func (c *conn) goAway(ctx context.Context) {
	idle := c.link.Drain()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-c.ended:
		return
	}
	grace, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	for _, answer := range c.link.Take() {
		if c.Write(grace, answer) != nil {
			break
		}
	}
	select {
	case <-idle:
	case <-grace.Done():
	case <-c.ended:
	}
	_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
}
