package wstransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// piped returns a connection that is being read, for a test with a clock of its
// own, and the peer's end of the pipe after the handshake.
func piped(t *testing.T) (c *conn, far net.Conn, read <-chan error) {
	c, far = overPipe(t, Limits{})
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
		requireCode(t, <-read, websocket.CloseInternalServerErr)
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
				closed := requireCode(t, <-read, websocket.CloseInvalidFramePayloadData)
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
		c, far := overPipe(t, Limits{PingInterval: 2 * time.Hour, PongWait: 3 * time.Hour})
		defer far.Close()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		c.extra.TokenInfo = &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}
		began := time.Now()
		go c.watch()
		<-c.ended
		require.Equal(t, time.Hour, time.Since(began))
		_, err := c.Read(context.Background())
		requireCode(t, err, websocket.ClosePolicyViolation)
		<-c.released
	})
}

// A peer stays that takes five times PongWait over one message and answers no
// ping meanwhile, and so does one that then says nothing but answers pings.
func TestQuietPeerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far := overPipe(t, Limits{})
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

// overPipe gives a connection over a pipe whose far end has read the handshake.
func overPipe(t *testing.T, limits Limits) (*conn, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	handshake := make(chan struct{})
	go func() {
		defer close(handshake)
		_, _ = far.Read(make([]byte, 1<<10))
	}()
	c := upgraded(t, near, limits)
	<-handshake
	return c, far
}

// requireCode requires the end of a connection with a code, which this side sent.
func requireCode(t *testing.T, err error, code int) *CloseError {
	t.Helper()
	var closed *CloseError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, code, closed.Code)
	return closed
}

func requireEnds(t *testing.T, c *conn, far net.Conn, code int, after time.Duration, began time.Time) {
	t.Helper()
	<-c.ended
	requireCode(t, c.cause, code)
	require.Equal(t, after, time.Since(began))
	_ = far.Close()
	<-c.released
}

// Pongs and drips keep a connection alive, and no message for ever.
func TestDripsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far := overPipe(t, Limits{})
		go func() { _, _ = io.Copy(io.Discard, far) }()
		began := time.Now()
		dripped := make(chan struct{})
		defer func() { <-dripped }()
		go func() {
			defer close(dripped)
			frame := masked(0x81, string(make([]byte, 100)))
			for i := 0; i < len(frame); i++ {
				if _, err := far.Write(frame[i : i+1]); err != nil {
					return
				}
				if i >= 6 { // the head is whole
					time.Sleep(10 * time.Second)
				}
			}
		}()
		_, err := c.Read(context.Background())
		require.ErrorContains(t, err, "a message took longer than 1m0s")
		requireEnds(t, c, far, websocket.ClosePolicyViolation, defaultMessageTimeout, began)
	})
}

// A peer that only says that it is there holds no connection.
func TestAConnectionWithoutARequestIsClosed(t *testing.T) {
	for _, message := range []string{"", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`} {
		synctest.Test(t, func(t *testing.T) {
			c, far := overPipe(t, Limits{PingInterval: 10 * time.Minute, PongWait: 20 * time.Minute})
			c.firstRequest = defaultFirstRequest
			go c.watch()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			go func() {
				for {
					if _, err := c.Read(context.Background()); err != nil {
						return
					}
				}
			}()
			began := time.Now()
			if message != "" {
				_, err := far.Write(masked(0x81, message))
				require.NoError(t, err)
			}
			if message == "" || len(message) < 45 {
				requireEnds(t, c, far, websocket.ClosePolicyViolation, defaultFirstRequest, began)
				return
			}
			time.Sleep(10 * defaultFirstRequest)
			require.NoError(t, c.cause, "it made a request")
			_ = c.Close()
			_ = far.Close()
			<-c.released
		})
	}
}

// What waits for a peer that does not read is bounded in bytes, and a single
// message of any size is not too much.
func TestUnreadBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far := overPipe(t, Limits{MaxUnreadBytes: 1000})
		errs := make(chan error, 3)
		write := func(size int) {
			go func() {
				errs <- c.Write(context.Background(), &jsonrpc.Request{Method: "m", Params: make([]byte, size)})
			}()
			synctest.Wait()
		}
		write(2000)
		select {
		case <-c.ended:
			require.Fail(t, "a large message is not a crowd")
		default:
		}
		write(1)
		<-c.ended
		require.ErrorContains(t, c.cause, "2000 bytes unread")
		_ = far.Close()
		for range 2 {
			require.Error(t, <-errs)
		}
		<-c.released
		require.Zero(t, c.unread.Load())
		require.False(t, errors.Is(c.cause, io.EOF))
	})
}

// A client that asks for much and reads nothing: soon it is no longer listened
// to, then dropped. The answers that are kept for it meanwhile are bounded. The
// socket is a pipe without buffers, so each answer that was taken off this end's
// hands was read by the peer.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked = 400
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		var calls atomic.Int64
		server.AddTool(&mcp.Tool{Name: "much", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 4<<10)}}}, nil
			})
		c, far := overPipe(t, Limits{})
		session, err := server.Connect(t.Context(), &transport{conn: c}, nil)
		require.NoError(t, err)

		// One call at a time, for a handler that has not answered yet holds no place
		// in the line.
		taken := 0
		var began time.Time // of the first answer
		for ; taken < asked; taken++ {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"much","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, taken)
			go func() { _, _ = far.Write(masked(0x81, message)) }() // until the pipe is closed
			if taken == 0 {
				began = time.Now()
			}
			synctest.Wait()
			if calls.Load() == int64(taken) {
				break
			}
		}
		require.Equal(t, maxLine+1, taken, "a place in the line for each answer, and one call that was being read already")

		require.ErrorContains(t, session.Wait(), "the peer did not read for 30s")
		require.Equal(t, defaultWriteTimeout, time.Since(began))
		require.EqualValues(t, taken, calls.Load(), "a call was taken after all")
		rest, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Empty(t, rest, "no close frame can follow half a message")
		require.NoError(t, far.Close())
		<-c.released
	})
}
