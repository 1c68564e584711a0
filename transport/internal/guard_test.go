package internal_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/origin"
)

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
