package wstransport

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A peer has a time for everything, to the second, and is told by a code when it is over. It
// answers pings, unless it is silent.
func TestAPeerHasItsTime(t *testing.T) {
	list := request("1", "tools/list", "")
	drip := func(p *peer, frames int, pause time.Duration) {
		p.send(list)
		p.frames(frame(0x01, request("2", "tools/list", "")))
		for range frames {
			time.Sleep(pause)
			_, _ = p.NetConn().Write([]byte(frame(0x00, " ")))
		}
		_, _ = p.NetConn().Write([]byte(frame(0x80, " ")))
	}
	for _, c := range []struct {
		explanation, user string
		silent            bool
		does              func(*peer)
		code              int
		after             time.Duration
	}{
		{"is silent from the start", "", true, func(p *peer) { p.send(list) }, 1011, pongWait},
		{"is silent after a message", "", true, func(p *peer) { time.Sleep(20 * time.Second); p.send(list) }, 1011, 20*time.Second + pongWait},
		{"is silent after a pong", "", true, func(p *peer) { p.send(list); time.Sleep(20 * time.Second); p.frames(frame(0x8a, "")) }, 1011, 20*time.Second + pongWait},
		{"pings", "", true, func(p *peer) { p.send(list); time.Sleep(20 * time.Second); p.frames(frame(0x89, "")) }, 1011, 20*time.Second + pongWait},
		{"makes no request", "", false, func(*peer) {}, 1008, firstRequest},
		{"makes none but ping", "", false, func(p *peer) { p.send(request("1", "ping", "")) }, 1008, firstRequest},
		{"has a token of an hour", "ann", false, func(p *peer) { p.send(list) }, 1008, time.Hour},
		{"sends a message for ever", "", false, func(p *peer) { drip(p, 20, 5*time.Second) }, 1008, messageTimeout},
		{"stops within one", "", true, func(p *peer) { p.send(list); p.frames(frame(0x01, "{")) }, 1008, messageTimeout},
		{"takes long for one", "", true, func(p *peer) { drip(p, 10, 5*time.Second) }, 1011, 50*time.Second + pongWait},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, HandlerOptions{})
			began := time.Now()
			p, _ := s.connect(c.user)
			if c.silent {
				p.SetPingHandler(func(string) error { return nil })
			}
			go p.pump()
			var done sync.WaitGroup
			done.Go(func() { c.does(p) })
			for range p.in { // an answer
			}
			require.Equal(t, c.code, p.code(), c.explanation)
			require.Equal(t, c.after, time.Since(began), c.explanation)
			_ = p.Close()
			<-s.served
			done.Wait()
		})
	}
}

// After a close frame the socket stays open, and is read, until the peer answers or the grace
// is over: a socket closed on unread bytes is reset, and a reset may overtake the frame.
func TestACloseFrameIsDelivered(t *testing.T) {
	for answer, takes := range map[string]time.Duration{frame(0x88, "\x03\xef"): 0, "": closeGrace} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, HandlerOptions{})
			p, _ := s.connect("")
			p.send("no JSON")
			head := make([]byte, 4)
			_, err := io.ReadFull(p.NetConn(), head)
			require.NoError(t, err)
			require.Equal(t, "\x88\x03\xef", string(append(head[:1:1], head[2:]...)))
			began := time.Now()
			_, err = io.CopyN(io.Discard, p.NetConn(), int64(head[1]-2))
			require.NoError(t, err)
			p.send(call("1", "echo", "{}"))
			p.frames(answer)
			_, err = p.NetConn().Read(head)
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, takes, time.Since(began))
		})
	}
}

// A client that asks for much and reads nothing is dropped, and what is kept for it meanwhile
// is bounded.
func TestAPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, HandlerOptions{})
		p, _ := s.connect("")
		began := time.Now()
		taken := 0
		for err := error(nil); err == nil; taken++ {
			_, err = p.NetConn().Write([]byte(frame(0x81, call(fmt.Sprint(taken), "echo", "{}"))))
			synctest.Wait()
		}
		require.Equal(t, 1+maxCalls+1+1, taken, "one is answered, one is refused, and one breaks off")
		<-s.served
		require.Equal(t, writeTimeout, time.Since(began))
		rest, err := io.ReadAll(p.NetConn())
		require.NoError(t, err)
		require.Empty(t, rest, "no close frame can follow half a message")
	})
	synctest.Test(t, func(t *testing.T) {
		near, far := pipe(t)
		c := newConn(far, 1000)
		write := func(size int, ctx context.Context) chan error {
			done := make(chan error, 1)
			go func() { done <- c.Write(ctx, &jsonrpc.Request{Method: "m", Params: make([]byte, size)}) }()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		large := write(maxUnread, ctx)
		require.NoError(t, c.cause, "a large message is not a crowd")
		second := write(1, ctx)
		<-c.ended
		require.ErrorContains(t, c.cause, "bytes unread")
		require.ErrorIs(t, <-second, mcp.ErrConnectionClosed)
		cancel()
		require.Error(t, <-large)
		_ = near.Close()
		<-c.released
		require.Zero(t, c.unread.Load())
	})
}

// A writer whose context ends goes. The message that is on its way is not torn, and the
// connection lives.
func TestWriteIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := pipe(t)
		c := newConn(far, 1000)
		for _, method := range []string{"half sent", "never, since it waits for its turn"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, c.Write(ctx, &jsonrpc.Request{Method: method}), context.DeadlineExceeded)
			cancel()
		}
		go func() { _ = c.Write(context.Background(), &jsonrpc.Request{Method: "last"}) }()
		for _, method := range []string{"half sent", "last"} {
			_, text, err := near.ReadMessage()
			require.NoError(t, err)
			require.Contains(t, string(text), method)
		}
		synctest.Wait()
		require.Zero(t, c.unread.Load())
		go func() { _, _, _ = near.ReadMessage() }()
		require.NoError(t, c.Close())
		_, err := c.Read(t.Context())
		require.ErrorIs(t, err, io.EOF)
		<-c.released
		_ = near.Close()
	})
}
