package wstransport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/origin"
)

func TestCounter(t *testing.T) {
	c := inflight.New(5, 3)
	require.NoError(t, c.Enter(inflight.Who{Principal: "a"}, 3))
	require.Equal(t, inflight.ErrShare, c.Enter(inflight.Who{Principal: "a"}, 1))
	require.Equal(t, inflight.ErrFull, c.Enter(inflight.Who{Principal: "b"}, 3), "all or none")
	require.NoError(t, c.Enter(inflight.Who{Principal: "b"}, 1))
	require.NoError(t, c.Enter(inflight.Who{}, 1))
	require.Equal(t, inflight.ErrFull, c.Enter(inflight.Who{}, 1))
	c.Leave(inflight.Who{Principal: "a"}, 2)
	require.NoError(t, c.Enter(inflight.Who{Principal: "a"}, 2))
	c.Leave(inflight.Who{Principal: "a"}, 3)
	c.Leave(inflight.Who{Principal: "b"}, 1)
	c.Leave(inflight.Who{}, 1)
	require.Equal(t, inflight.New(5, 3), c, "a principal that has nothing in flight is forgotten")
}

// A quarter of the places is neither for the callers whom nobody knows, however many
// connections they open, nor for any one principal.
func TestAQuarterIsForTheOthers(t *testing.T) {
	for name, taking := range map[string]func(i int) inflight.Who{
		"a crowd":     func(i int) inflight.Who { return inflight.Who{Connection: string(rune('a' + i))} },
		"nobody":      func(int) inflight.Who { return inflight.Who{} },
		"a principal": func(int) inflight.Who { return inflight.Who{Principal: "a"} },
	} {
		c, taken := inflight.New(20, 1000), 0
		for i := range 20 {
			if c.Enter(taking(i), 1) == nil {
				taken++
			}
		}
		require.Equal(t, 15, taken, name)
		for range 5 {
			require.NoError(t, c.Enter(inflight.Who{Principal: "b"}, 1), name)
		}
		require.Equal(t, inflight.ErrFull, c.Enter(inflight.Who{Principal: "c"}, 1), name)
		c.Leave(inflight.Who{Principal: "b"}, 5)
		for i := range taken {
			c.Leave(taking(i), 1)
		}
		require.Equal(t, inflight.New(20, 1000), c, name)
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	var s inflight.Subscriptions
	note := func(method, address string) error {
		if err := s.Note(method, json.RawMessage(fmt.Sprintf(`{"URI":"other","uri":%q}`, address))); err != nil {
			return err
		}
		return nil
	}
	for i := range 1000 {
		require.NoError(t, note("resources/subscribe", fmt.Sprint("a", i)))
		require.NoError(t, note("resources/subscribe", fmt.Sprint("a", i)), "twice is once")
	}
	require.Error(t, note("resources/subscribe", "one more"))
	require.NoError(t, note("resources/unsubscribe", "never subscribed"))
	require.Error(t, note("resources/subscribe", "one more"))
	require.NoError(t, note("resources/unsubscribe", "a0"))
	require.NoError(t, note("resources/subscribe", "one more"))

	s = inflight.Subscriptions{}
	require.Error(t, note("resources/subscribe", strings.Repeat("a", 65536+1)))
	require.NoError(t, note("resources/subscribe", strings.Repeat("a", 65536)))
	require.Error(t, note("resources/subscribe", "b"))
	require.NoError(t, note("resources/unsubscribe", strings.Repeat("a", 65536)))
	require.NoError(t, note("resources/subscribe", "b"))
	require.Error(t, note("subscriptions/listen", strings.Repeat("a", 65536)))
	require.NoError(t, note("tools/call", strings.Repeat("a", 65536+1)))
	for _, odd := range []string{``, `null`, `[]`, `{}`, `{"uri":5}`, `{"uri":"x","uri":null}`} {
		require.Nil(t, s.Note("resources/subscribe", json.RawMessage(odd)), odd)
	}
}

type list = []string

var (
	away, loopback = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	unknown        net.Addr
)

var checks = []struct {
	explanation    string
	hosts, origins list
	local          net.Addr
	host           string
	header         http.Header
	want           error
}{
	{"a program", nil, nil, loopback, "127.0.0.1:80", nil, nil},
	{"loopback by number", nil, nil, loopback, "[::1]:8080", nil, nil},
	{"an address without a port", nil, nil, loopback, "[::1]", nil, nil},
	{"loopback, fully qualified", nil, nil, loopback, "LOCALHOST.", nil, nil},
	{"a rebound name", nil, nil, loopback, "evil.example:80", http.Header{"Origin": {"http://evil.example:80"}}, origin.ErrForeignHost},
	{"a rebound name and no origin", nil, nil, loopback, "evil.example", nil, origin.ErrForeignHost},
	{"a name that only begins like loopback", nil, nil, loopback, "localhost.evil.example", nil, origin.ErrForeignHost},
	{"no list, away from loopback: any name", nil, nil, away, "any.example", nil, nil},
	{"no list, and nobody knows where: any name", nil, nil, unknown, "any.example", nil, nil},
	{"a listed name, any port and case", list{"mcp.example"}, nil, loopback, "MCP.example:443", nil, nil},
	{"loopback beside a list", list{"mcp.example"}, nil, loopback, "127.0.0.1", nil, nil},
	{"another name", list{"mcp.example"}, nil, loopback, "other.example", nil, origin.ErrForeignHost},
	{"a list, away from loopback", list{"mcp.example"}, nil, away, "any.example", nil, origin.ErrForeignHost},
	{"loopback from elsewhere", list{"mcp.example"}, nil, away, "localhost", nil, origin.ErrForeignHost},
	{"a list, and nobody knows where", list{"mcp.example"}, nil, unknown, "localhost", nil, origin.ErrForeignHost},

	{"the server's own page", nil, nil, loopback, "localhost:80", http.Header{"Origin": {"http://localhost:80"}}, nil},
	{"its own page behind a proxy that ends TLS", nil, nil, away, "mcp.example", http.Header{"Origin": {"https://MCP.example"}}, nil},
	{"the same host and another port is another origin", nil, nil, loopback, "localhost:80", http.Header{"Origin": {"http://localhost:81"}}, origin.ErrForeignOrigin},
	{"a foreign page", nil, nil, loopback, "localhost", http.Header{"Origin": {"https://evil.example"}}, origin.ErrForeignOrigin},
	{"a foreign origin that begins like ours", nil, nil, loopback, "localhost", http.Header{"Origin": {"http://localhost.evil.example"}}, origin.ErrForeignOrigin},
	{"a sandboxed page", nil, nil, loopback, "localhost", http.Header{"Origin": {"null"}}, origin.ErrForeignOrigin},
	{"an empty origin", nil, nil, loopback, "localhost", http.Header{"Origin": {""}}, origin.ErrForeignOrigin},
	{"two origins, one of them ours", nil, nil, loopback, "localhost", http.Header{"Origin": {"http://localhost", "https://evil.example"}}, origin.ErrForeignOrigin},
	{"a browser that says cross-site", nil, nil, loopback, "localhost", http.Header{"Sec-Fetch-Site": {"cross-site"}}, origin.ErrForeignOrigin},
	{"a browser that says cross-site of a listed origin", nil, list{"https://app.example"}, loopback, "localhost", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://app.example"}}, nil},
	{"a browser that says same-origin", nil, nil, loopback, "localhost", http.Header{"Sec-Fetch-Site": {"same-origin"}}, nil},
	{"a listed origin, in another case", nil, list{"https://App.example"}, loopback, "localhost", http.Header{"Origin": {"https://app.Example"}}, nil},
	{"its plain twin", nil, list{"https://app.example"}, loopback, "localhost", http.Header{"Origin": {"http://app.example"}}, origin.ErrForeignOrigin},
	{"a list does not shut out the server's own", nil, list{"https://app.example"}, loopback, "localhost", http.Header{"Origin": {"http://localhost"}}, nil},
}

func TestCheck(t *testing.T) {
	require.NotEmpty(t, checks)
	for _, c := range checks {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			g, err := origin.NewGuard(c.hosts, c.origins)
			require.NoError(t, err, c.explanation)
			ctx := t.Context()
			if c.local != nil {
				ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.local)
			}
			r := httptest.NewRequestWithContext(ctx, method, "/", nil)
			r.Host = c.host
			if c.header != nil {
				r.Header = c.header.Clone()
			}
			require.Equal(t, c.want, g.Check(r), "%s %s", method, c.explanation)
			require.Equal(t, method, r.Method)
		}
	}
}

func TestListsAreChecked(t *testing.T) {
	for _, host := range []string{"", "mcp.example:80", "MCP.example", "http://mcp.example", "mcp.example/x", "*.example", "mcp.example."} {
		_, err := origin.NewGuard([]string{"fine.example", host}, nil)
		require.ErrorContains(t, err, "AllowedHosts: ", host)
	}
	for _, page := range []string{"", "*", "app.example", "https://app.example/", "https://app.example/path"} {
		_, err := origin.NewGuard(nil, []string{"https://fine.example", page})
		require.ErrorContains(t, err, "AllowedOrigins: ", page)
	}
}
