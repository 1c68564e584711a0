package wstransport

import (
	"bufio"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

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
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":%q,"version":"1"},"capabilities":{}}}`, strings.Repeat("x", maxInitialize-200)))
			require.Equal(t, refused, p.next().Error != nil)
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
	require.NoError(t, r.Write(far))
	resp, err := http.ReadResponse(bufio.NewReader(far), r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}
