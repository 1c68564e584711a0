package wstransport

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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

// After a close frame the socket stays open, and the bytes that the peer still
// sends are read, until it answers or the grace is over: a socket closed on unread
// bytes is reset, and a reset may overtake the frame.
func TestCloseFrameIsDelivered(t *testing.T) {
	cases := []struct {
		explanation string
		answer      []byte
		takes       time.Duration
	}{
		{"the peer answers", masked(0x88, "\x03\xef"), 0},
		{"the peer does not", nil, defaultCloseGrace},
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

// A bearer token ends the connection at the second at which it expires.
func TestTokenExpiryIsTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		c := upgraded(t, near, Limits{PingInterval: 2 * time.Hour, PongWait: 3 * time.Hour})
		c.extra.TokenInfo = &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}
		began := time.Now()
		go c.watch()
		<-c.ended
		require.Equal(t, time.Hour, time.Since(began))
		_, err := c.Read(context.Background())
		var closed *CloseError
		require.ErrorAs(t, err, &closed)
		require.Equal(t, websocket.ClosePolicyViolation, closed.Code)
		<-c.released
	})
}

// A peer stays that takes five times PongWait over one message and answers no
// ping meanwhile, and so does one that then says nothing but answers pings.
func TestQuietPeerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		handshake := make(chan struct{})
		go func() {
			defer close(handshake)
			_, _ = far.Read(make([]byte, 1<<10))
		}()
		c := upgraded(t, near, Limits{})
		<-handshake
		go c.watch()
		var answers atomic.Bool
		pings := make(chan struct{}, 1000)
		go func() {
			frame := make([]byte, 2)
			for {
				if _, err := io.ReadFull(far, frame); err != nil || frame[0] != 0x89 {
					return
				}
				pings <- struct{}{}
				if answers.Load() {
					_, _ = far.Write(masked(0x8a, ""))
				}
			}
		}()
		read := make(chan jsonrpc.Message, 2)
		go func() {
			for {
				m, err := c.Read(context.Background())
				if err != nil {
					close(read)
					return
				}
				read <- m
			}
		}()

		const call = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		began := time.Now()
		frame := masked(0x81, call)
		for _, b := range frame {
			_, err := far.Write([]byte{b})
			require.NoError(t, err)
			time.Sleep(5 * defaultPongWait / 4 / time.Duration(len(frame)))
		}
		require.NotNil(t, <-read)
		require.Greater(t, time.Since(began), defaultPongWait)
		require.NotEmpty(t, pings, "there was something to answer")

		answers.Store(true)
		time.Sleep(10 * defaultPongWait)
		_, err := far.Write(masked(0x81, `{"jsonrpc":"2.0","id":2,"method":"ping"}`))
		require.NoError(t, err)
		require.NotNil(t, <-read)

		answers.Store(false)
		require.Nil(t, <-read, "a peer that does not answer is given up")
		require.NoError(t, far.Close())
		<-c.released
	})
}
