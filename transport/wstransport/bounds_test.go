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

// Connections and calls that come and go in any order are bounded as a model of them says,
// one that is refused has another reason than one that is answered, and every place is given
// back.
func TestBoundsAreRespected(t *testing.T) {
	const connections, calls, ofOne = 10, 8, 3
	crowd := func(most int) int { return most - most/4 }
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			s := newSite(t, HandlerOptions{MaxConnections: connections, MaxCalls: calls, MaxCallsPerPrincipal: ofOne})
			type client struct {
				*peer
				user  string
				calls []string
			}
			var open []*client
			count := func(user string, weigh func(*client) int) (total, own int) {
				for _, c := range open {
					total += weigh(c)
					if c.user == user {
						own += weigh(c)
					}
				}
				return total, own
			}
			allowed := func(user string, total, own, most, share int) string {
				switch {
				case total == most, user == "" && own == crowd(most):
					return "overload"
				case user != "" && own == min(share, crowd(most)):
					return "share"
				}
				return ""
			}
			for next := range 150 {
				if len(open) == 0 || r.IntN(4) == 0 {
					user := []string{"", "", "ann", "bob"}[r.IntN(4)]
					total, own := count(user, func(*client) int { return 1 })
					p, status := s.connect(user)
					why := allowed(user, total, own, connections, 1)
					require.Equal(t, map[string]int{"": 101, "overload": 503, "share": 429}[why], status)
					if p == nil {
						require.Equal(t, why, <-s.refusals)
						continue
					}
					go p.pump()
					open = append(open, &client{peer: p, user: user})
					continue
				}
				i := r.IntN(len(open))
				c := open[i]
				switch {
				case r.IntN(12) == 0:
					_ = c.Close()
					<-s.served
					open = slices.Delete(open, i, i+1)
				case len(c.calls) > 0 && r.IntN(3) == 0: // the same again: nothing, until it is answered
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
				default:
					id := fmt.Sprint(next)
					total, own := count(c.user, func(c *client) int { return len(c.calls) })
					c.send(call(id, "wait", id))
					if why := allowed(c.user, total, own, calls, ofOne); why != "" {
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
