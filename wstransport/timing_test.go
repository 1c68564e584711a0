package wstransport

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// piped returns a connection that is being read, for a test with a clock of its
// own, and the peer's end of the pipe after the handshake.
func piped(t *testing.T) (c *conn, far net.Conn, read <-chan error) {
	near, far := net.Pipe()
	handshake := make(chan struct{})
	go func() {
		defer close(handshake)
		_, _ = far.Read(make([]byte, 1<<10))
	}()
	c = upgraded(t, near, Limits{})
	<-handshake
	go c.watch()
	errs := make(chan error, 1)
	go func() {
		_, err := c.Read(context.Background())
		errs <- err
	}()
	t.Cleanup(func() { _ = far.Close() })
	return c, far, errs
}

// With the default limits, on a clock of its own: a peer that stops answering
// is given PongWait from the last pong, to the second.
func TestSilenceIsTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far, read := piped(t)
		go func() { _, _ = io.Copy(io.Discard, far) }() // pings and the close frame
		time.Sleep(defaultPongWait / 4)
		_, err := far.Write(masked(0x8a, ""))
		require.NoError(t, err)
		synctest.Wait()
		lastHeard := time.Now()
		var closed *CloseError
		require.ErrorAs(t, <-read, &closed)
		require.Equal(t, websocket.CloseInternalServerErr, closed.Code)
		require.Equal(t, defaultPongWait, time.Since(lastHeard))
		<-c.released
	})
}

// After a close frame the socket stays open, and what the peer still sends is
// taken, until it answers or the grace is over: a socket closed on unread
// bytes is reset, and a reset may overtake the frame.
func TestCloseFrameIsDelivered(t *testing.T) {
	cases := []struct {
		explanation string
		answer      []byte
		takes       time.Duration
	}{
		{"the peer answers", masked(0x88, "\x03\xef"), 0},
		{"the peer does not", nil, closeGrace},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ws, far, read := piped(t)
				_, err := far.Write(masked(0x81, "no JSON"))
				require.NoError(t, err)
				var closed *CloseError
				require.ErrorAs(t, <-read, &closed)
				begun := time.Now()
				frame := make([]byte, 4)
				_, err = io.ReadFull(far, frame)
				require.NoError(t, err)
				require.Equal(t, []byte{0x88, byte(2 + len(closed.Reason)), 0x03, 0xef}, frame)
				_, err = io.ReadFull(far, make([]byte, len(closed.Reason)))
				require.NoError(t, err)
				_, err = far.Write(masked(0x81, "more of it"))
				require.NoError(t, err)
				select {
				case <-ws.released:
					require.Fail(t, "closed without an answer")
				default:
				}
				if c.answer != nil {
					_, err = far.Write(c.answer)
					require.NoError(t, err)
				}
				_, err = far.Read(frame)
				require.ErrorIs(t, err, io.EOF)
				require.Equal(t, c.takes, time.Since(begun))
			})
		})
	}
}
