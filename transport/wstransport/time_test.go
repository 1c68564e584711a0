package wstransport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
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

// crowded is a site with a model of its bounds: 10 connections, 8 calls, 3 of one principal.
type crowded struct {
	*site
	*rand.Rand
	open []*client
}

// client is a connection, and the calls that run there.
type client struct {
	*peer
	user  string
	calls []string
}

// allowed is why one more is refused, "" if it is not.
func (s *crowded) allowed(user string, weigh func(*client) int, most, share int) string {
	total, own := 0, 0
	for _, c := range s.open {
		total += weigh(c)
		if c.user == user {
			own += weigh(c)
		}
	}
	crowd := most - most/4
	switch {
	case total == most, user == "" && own == crowd:
		return "overload"
	case user != "" && own == min(share, crowd):
		return "share"
	}
	return ""
}

// come connects one more client, if that is allowed.
func (s *crowded) come(t *testing.T) {
	user := []string{"", "", "ann", "bob"}[s.IntN(4)]
	why := s.allowed(user, func(*client) int { return 1 }, 10, 1)
	p, status := s.connect(user)
	require.Equal(t, map[string]int{"": 101, "overload": 503, "share": 429}[why], status)
	if p == nil {
		require.Equal(t, why, <-s.refusals)
		return
	}
	go p.pump()
	s.open = append(s.open, &client{peer: p, user: user})
}

// again sends the oldest call of a client again, which is nothing until it is answered, and
// then cancels it.
func (s *crowded) again(t *testing.T, c *client) {
	c.send(call(c.calls[0], "wait", c.calls[0]))
	c.send(call(c.calls[0], "echo", "{}"))
	require.Equal(t, -32600, c.next().Error.Code)
	require.Equal(t, "ambiguous", <-s.refusals)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, c.calls[0]))
	for range 2 {
		require.Equal(t, c.calls[0], string(c.next().ID))
	}
	<-s.causes
	c.calls = c.calls[1:]
}

// Connections and calls that come and go in any order are bounded as a model of them says,
// one that is refused has another reason than one that is answered, and every place is given
// back.
func TestBoundsAreRespected(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			s := &crowded{site: newSite(t, HandlerOptions{MaxConnections: 10, MaxCalls: 8, MaxCallsPerPrincipal: 3}), Rand: rand.New(rand.NewPCG(seed, 0))}
			for next := range 150 {
				if len(s.open) == 0 || s.IntN(4) == 0 {
					s.come(t)
					continue
				}
				i := s.IntN(len(s.open))
				c := s.open[i]
				switch {
				case s.IntN(12) == 0:
					_ = c.Close()
					<-s.served
					s.open = slices.Delete(s.open, i, i+1)
				case len(c.calls) > 0 && s.IntN(3) == 0:
					s.again(t, c)
				default:
					id := fmt.Sprint(next)
					why := s.allowed(c.user, func(c *client) int { return len(c.calls) }, 8, 3)
					if c.send(call(id, "wait", id)); why != "" {
						require.Equal(t, -31000, c.next().Error.Code)
						require.Equal(t, why, <-s.refusals)
						continue
					}
					require.Equal(t, id, <-s.began)
					c.calls = append(c.calls, id)
				}
			}
			require.Empty(t, s.began)
		})
	}
}

// The messages that open a session are bounded, each by itself and all together.
func TestInitializeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, HandlerOptions{MaxConnections: 10})
		for _, refused := range []bool{false, true} { // it is over 3/4 of what all may have
			p := s.dial("")
			opens := `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":%q,"version":"1"},"capabilities":{}}}`
			p.send(fmt.Sprintf(opens, 1, strings.Repeat("x", maxInitialize-200)))
			require.Equal(t, refused, p.next().Error != nil)
			p.send(fmt.Sprintf(opens, 2, strings.Repeat("x", maxInitialize-200))) // it takes no more room
			require.Equal(t, refused, p.next().Error.Code == -31000)
		}
	})
	for method, most := range map[string]int{"initialize": maxInitialize, "notifications/initialized": maxInitialized} {
		c := &conn{}
		require.Nil(t, c.admit(&jsonrpc.Request{Method: method, Params: make([]byte, most)}))
		require.NotNil(t, c.admit(&jsonrpc.Request{Method: method, Params: make([]byte, most+1)}))
	}
}

// A request is admitted by its host and origin, and if it is a handshake for us.
func TestWhoIsAdmitted(t *testing.T) {
	for _, c := range []struct {
		explanation string
		o           HandlerOptions
		change      func(*http.Request)
		status      int
		why         string
	}{
		{"no Origin: not a web page", HandlerOptions{}, func(*http.Request) {}, 101, ""},
		{"a foreign origin", HandlerOptions{}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403, "origin"},
		{"an origin on the list", HandlerOptions{AllowedOrigins: []string{"https://app.example"}}, func(r *http.Request) { r.Header.Set("Origin", "https://app.example") }, 101, ""},
		{"a rebound name", HandlerOptions{}, func(r *http.Request) { r.Host = "evil.example"; r.Header.Set("Origin", "http://evil.example") }, 403, "host"},
		{"a listed host", HandlerOptions{AllowedHosts: []string{"api.example"}}, func(r *http.Request) { r.Host = "API.example:443" }, 101, ""},
		{"no subprotocol", HandlerOptions{}, func(r *http.Request) { r.Header.Del("Sec-Websocket-Protocol") }, 400, "handshake"},
		{"another subprotocol", HandlerOptions{}, func(r *http.Request) { r.Header.Set("Sec-Websocket-Protocol", "chat, mcp2") }, 400, "handshake"},
		{"a plain GET", HandlerOptions{}, func(r *http.Request) { r.Header.Del("Upgrade") }, 426, "handshake"},
		{"a body that does not come", HandlerOptions{}, func(r *http.Request) { r.Header.Del("Upgrade"); r.Header.Set("Content-Length", "10") }, 426, "handshake"},
		{"no key", HandlerOptions{}, func(r *http.Request) { r.Header.Del("Sec-Websocket-Key") }, 400, "handshake"},
		{"no server", HandlerOptions{}, func(r *http.Request) { r.URL.Path = "/none" }, 400, "handshake"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			c.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			s := newSite(t, c.o)
			far, _ := s.pipe(t.Context(), "", "")
			defer far.Close()
			resp := handshake(t, far, c.change)
			require.Equal(t, c.status, resp.StatusCode, c.explanation)
			if c.status == http.StatusSwitchingProtocols {
				require.Equal(t, "mcp", resp.Header.Get("Sec-Websocket-Protocol"))
				require.Empty(t, resp.Header.Get("Sec-Websocket-Extensions"))
				return
			}
			require.Equal(t, c.status == 426, resp.Header.Get("Upgrade") == "websocket")
			require.Equal(t, c.why, <-s.refusals, c.explanation)
			require.Contains(t, log.String(), fmt.Sprint("status=", c.status))
		})
	}
}

// handshake sends a request to upgrade over a connection, and returns the response.
func handshake(t *testing.T, far net.Conn, change func(*http.Request)) *http.Response {
	r, err := http.NewRequest(http.MethodGet, "http://localhost/", nil)
	require.NoError(t, err)
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": {"chat, mcp"}}
	change(r)
	head, err := httputil.DumpRequest(r, false)
	require.NoError(t, err)
	_, _ = far.Write(head)
	resp, err := http.ReadResponse(bufio.NewReader(far), r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}
