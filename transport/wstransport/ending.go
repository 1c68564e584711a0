package wstransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/gorilla/websocket"
)

// An ending is a close frame for the peer, none if code is 0, and an error for
// this end.
type ending struct {
	code   int
	reason string
	cause  error
}

// end closes with a code of this end's choice.
func (c *conn) end(code int, reason string) error {
	return c.finish(broken(code, reason))
}

// finish ends the connection and returns the cause of its end, which is that of
// the first call. It does not block: the close frame is sent, and the answer
// awaited, behind the caller's back and for a bounded time.
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
	deadline := time.Now().Add(c.limits.closeGrace)
	giveUp := time.AfterFunc(c.limits.closeGrace, func() { _ = c.ws.Close() })
	defer giveUp.Stop()
	if e.code != 0 {
		_ = c.ws.WriteControl(websocket.CloseMessage, closePayload(e), deadline)
		c.awaitClose()
	}
	_ = c.ws.Close()
}

// awaitClose reads until the peer has closed too. A socket closed with bytes
// unread is reset, and a reset can overtake the close frame.
func (c *conn) awaitClose() {
	c.readTurn <- struct{}{} // Read returns when the peer answers, or when the grace is over
	if c.peerClosed {
		return
	}
	for {
		_, _, err := c.ws.NextReader()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return
		}
		if err != nil { // the framing is lost; the rest is just bytes
			_, _ = io.Copy(io.Discard, c.ws.NetConn())
			return
		}
	}
}

// closePayload cuts the reason so that it fits into a control frame.
func closePayload(e ending) []byte {
	const most = 123
	reason := e.reason
	if len(reason) > most {
		reason = trimToRune(reason, most)
	}
	return websocket.FormatCloseMessage(e.code, reason)
}

func trimToRune(s string, n int) string {
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// diagnose turns an error of reading ws into an ending.
func (c *conn) diagnose(err error) ending {
	var closed *websocket.CloseError
	var netErr net.Error
	timedOut := errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout()
	switch {
	case errors.As(err, &closed) && closed.Code == websocket.CloseAbnormalClosure:
		return ending{cause: lost(io.ErrUnexpectedEOF)}
	case errors.As(err, &closed) && c.badEnd():
		c.peerClosed = true
		return broken(websocket.CloseProtocolError, "a close frame of one byte")
	case errors.As(err, &closed):
		c.peerClosed = true
		if closed.Code == websocket.CloseNormalClosure || closed.Code == websocket.CloseNoStatusReceived {
			return ending{code: closed.Code, cause: io.EOF}
		}
		return ending{closed.Code, "", &CloseError{Code: closed.Code, Reason: closed.Text, Remote: true}}
	case errors.Is(err, websocket.ErrReadLimit):
		return broken(websocket.CloseMessageTooBig, fmt.Sprintf("a message is over %d bytes", c.limits.MaxMessageBytes))
	case timedOut && !c.by.IsZero() && !time.Now().Before(c.by):
		return broken(websocket.ClosePolicyViolation, fmt.Sprintf("a message took longer than %v", c.limits.MessageTimeout))
	case timedOut:
		return broken(websocket.CloseInternalServerErr, fmt.Sprintf("nothing was heard for %v", c.limits.PongWait))
	case errors.As(err, &netErr) || errors.Is(err, net.ErrClosed):
		return ending{cause: lost(err)}
	default: // the library has sent its own 1002 with the details
		return broken(websocket.CloseProtocolError, err.Error())
	}
}

// badEnd reports whether the peer's close frame had one byte.
func (c *conn) badEnd() bool {
	framed, ok := c.ws.NetConn().(*framedConn)
	return ok && framed.frames.badEnd
}

func broken(code int, reason string) ending {
	return ending{code, reason, &CloseError{Code: code, Reason: reason}}
}

func lost(err error) error { return fmt.Errorf("wstransport: connection lost: %w", err) }

// goAway closes the connection because the server is going. Answers that are on their way
// go out first, and whatever is still owed gets one, if the peer reads it. It does not
// block.
func (c *conn) goAway() {
	answers, idle := c.calls.Take(), c.calls.OnWay()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.limits.closeGrace)
		defer cancel()
		for _, answer := range answers {
			if c.Write(ctx, answer) != nil {
				break
			}
		}
		select {
		case <-idle:
		case <-ctx.Done():
		case <-c.ended:
		}
		_ = c.end(websocket.CloseGoingAway, "the server is shutting down")
	}()
}
