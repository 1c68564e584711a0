package wstransport

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// bounded gives a connection over a pipe whose far end reads, and answers pings.
func bounded(t *testing.T, limits Limits) (*conn, net.Conn) {
	near, far := net.Pipe()
	handshake := make(chan struct{})
	go func() {
		defer close(handshake)
		_, _ = far.Read(make([]byte, 1<<10))
	}()
	limits, err := limits.withDefaults(serverMaxMessage)
	require.NoError(t, err)
	c := upgraded(t, near, limits)
	<-handshake
	return c, far
}

func requireEnds(t *testing.T, c *conn, far net.Conn, code int, after time.Duration, began time.Time) {
	t.Helper()
	<-c.ended
	var closed *CloseError
	require.ErrorAs(t, c.cause, &closed)
	require.Equal(t, code, closed.Code)
	require.Equal(t, after, time.Since(began))
	_ = far.Close()
	<-c.released
}

// Pongs and drips keep a connection alive, and no message for ever.
func TestDripsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far := bounded(t, Limits{})
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
			c, far := bounded(t, Limits{PingInterval: 10 * time.Minute, PongWait: 20 * time.Minute})
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
		c, far := bounded(t, Limits{MaxUnreadBytes: 1000})
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
