package wstransport_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// handshake makes a raw upgrade request and returns the response.
func handshake(t *testing.T, url string, change func(*http.Request)) (status int, body string, header http.Header) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(url, "ws"), nil))(t)
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-Websocket-Version": "13",
		"Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Protocol": "chat, mcp",
	} {
		req.Header.Set(name, value)
	}
	change(req)
	resp := must(http.DefaultTransport.RoundTrip(req))(t)
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp.StatusCode, "", resp.Header
	}
	data := must(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(data), resp.Header
}

func set(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func both(f, g func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) { f(r); g(r) }
}

func TestWhoIsAdmitted(t *testing.T) {
	allow := func(origins, hosts []string) *wstransport.HandlerOptions {
		return &wstransport.HandlerOptions{AllowedOrigins: origins, AllowedHosts: hosts}
	}
	cases := []struct {
		explanation string
		opts        *wstransport.HandlerOptions
		change      func(*http.Request)
		status      int
	}{
		{"no Origin: not a web page", nil, func(*http.Request) {}, 101},
		{"the same origin", nil, func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, 101},
		{"the same host and another port is another origin", nil, set("Origin", "http://127.0.0.1:1"), 403},
		{"a foreign origin", nil, set("Origin", "https://evil.example"), 403},
		{"a foreign origin that contains ours", nil, func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host+".evil.example") }, 403},
		{"an opaque origin", nil, set("Origin", "null"), 403},
		{"an empty origin", nil, set("Origin", ""), 403},
		{"two origins, one of them ours", nil, func(r *http.Request) {
			r.Header["Origin"] = []string{"http://" + r.URL.Host, "https://evil.example"}
		}, 403},
		{"an origin on the list, in another case", allow([]string{"https://App.example"}, nil), set("Origin", "https://app.Example"), 101},
		{"the scheme of a listed origin counts", allow([]string{"https://app.example"}, nil), set("Origin", "http://app.example"), 403},
		{"a list does not shut out the same origin", allow([]string{"https://app.example"}, nil), func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, 101},
		{"a rebound name: same origin, but not a loopback host", nil, both(host("evil.example"), set("Origin", "http://evil.example")), 403},
		{"a rebound name without an origin", nil, host("evil.example:80"), 403},
		{"localhost is a loopback host", nil, host("localhost:7"), 101},
		{"so is ::1", nil, host("[::1]"), 101},
		{"a listed host, any port", allow(nil, []string{"api.example"}), host("API.example:443"), 101},
		{"a host that is not listed", allow(nil, []string{"api.example"}), host("other.example"), 403},
		{"loopback beside a list of hosts", allow(nil, []string{"api.example"}), host("localhost"), 101},
		{"no subprotocol", nil, func(r *http.Request) { r.Header.Del("Sec-Websocket-Protocol") }, 400},
		{"another subprotocol", nil, set("Sec-Websocket-Protocol", "chat, mcp2"), 400},
		{"a plain GET", nil, func(r *http.Request) { r.Header.Del("Upgrade") }, 426},
		{"another version of WebSocket", nil, set("Sec-Websocket-Version", "8"), 400},
		{"no key", nil, func(r *http.Request) { r.Header.Del("Sec-Websocket-Key") }, 400},
		{"a method that cannot upgrade", nil, func(r *http.Request) { r.Method = http.MethodPost }, 405},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			e := serve(t, mcp.NewServer(impl, nil), c.opts)
			status, body, header := handshake(t, e.url, c.change)
			require.Equal(t, c.status, status, body)
			switch status {
			case 101:
				require.Equal(t, "mcp", header.Get("Sec-Websocket-Protocol"))
				require.Empty(t, header.Get("Sec-Websocket-Extensions"))
			case 426:
				require.Equal(t, "websocket", header.Get("Upgrade"))
			}
		})
	}
}

func TestRefusalsAreLogged(t *testing.T) {
	var out bytes.Buffer
	e := serve(t, mcp.NewServer(impl, nil), &wstransport.HandlerOptions{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	status, _, _ := handshake(t, e.url, set("Origin", "https://evil.example"))
	require.Equal(t, 403, status)
	e.sessionEnds(t)
	require.Contains(t, out.String(), "origin=https://evil.example")
	require.Contains(t, out.String(), `reason="Forbidden: cross-origin request"`)
	require.Contains(t, out.String(), "status=403")
}

func TestOptionsAreChecked(t *testing.T) {
	cases := []struct {
		explanation string
		opts        wstransport.HandlerOptions
	}{
		{"negative connections", wstransport.HandlerOptions{MaxConnections: -1}},
		{"negative connections of one", wstransport.HandlerOptions{MaxConnectionsPerPrincipal: -1}},
		{"negative calls", wstransport.HandlerOptions{MaxCalls: -1}},
		{"negative calls of one", wstransport.HandlerOptions{MaxCallsPerPrincipal: -1}},
		{"negative calls of a connection", wstransport.HandlerOptions{MaxCallsPerConnection: -1}},
		{"negative read limit", wstransport.HandlerOptions{Limits: wstransport.Limits{MaxMessageBytes: -1}}},
		{"negative time", wstransport.HandlerOptions{Limits: wstransport.Limits{WriteTimeout: -1}}},
		{"a wait no longer than the interval", wstransport.HandlerOptions{Limits: wstransport.Limits{PingInterval: time.Second, PongWait: time.Second}}},
		{"an interval longer than the default wait", wstransport.HandlerOptions{Limits: wstransport.Limits{PingInterval: time.Hour}}},
		{"an origin without a scheme", wstransport.HandlerOptions{AllowedOrigins: []string{"app.example"}}},
		{"an origin with a path", wstransport.HandlerOptions{AllowedOrigins: []string{"https://app.example/"}}},
		{"an origin that is a wildcard", wstransport.HandlerOptions{AllowedOrigins: []string{"*"}}},
		{"an empty host", wstransport.HandlerOptions{AllowedHosts: []string{""}}},
		{"a host with a port", wstransport.HandlerOptions{AllowedHosts: []string{"api.example:8443"}}},
		{"a host that is an address", wstransport.HandlerOptions{AllowedHosts: []string{"https://app.example"}}},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			_, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return nil }, &c.opts)
			var usage *wstransport.UsageError
			require.ErrorAs(t, err, &usage)
			rec := httptest.NewRecorder()
			_, acceptErr := wstransport.Accept(rec, httptest.NewRequest(http.MethodGet, "/", nil), &c.opts)
			require.Equal(t, err, acceptErr)
			require.Equal(t, 500, rec.Code)
		})
	}
	_, err := wstransport.NewHandler(nil, nil)
	var usage *wstransport.UsageError
	require.ErrorAs(t, err, &usage)
}

func TestNoServerForThisRequest(t *testing.T) {
	h := must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return nil }, nil))(t)
	server := httptest.NewServer(h)
	defer server.Close()
	_, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	var refused *wstransport.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 400, refused.StatusCode)
}

// Accept by hand, with a server of its own for each connection.
func TestAccept(t *testing.T) {
	refusals := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport, err := wstransport.Accept(w, r, nil)
		if err != nil {
			refusals <- err
			return
		}
		server, _ := greeter()
		_ = server.Run(r.Context(), transport)
		_, err = transport.Connect(r.Context())
		refusals <- err
	}))
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")

	status, _, _ := handshake(t, url, set("Origin", "https://evil.example"))
	require.Equal(t, 403, status)
	var refused *wstransport.RefusedError
	require.ErrorAs(t, receive(t, refusals), &refused)
	require.Equal(t, 403, refused.StatusCode)

	session := connect(t, url, modern, nil)
	tools := must(session.ListTools(t.Context(), nil))(t)
	require.Len(t, tools.Tools, 1)
	require.NoError(t, session.Close())
	require.ErrorContains(t, receive(t, refusals), "one session")
}

func bearer(h http.Handler) http.Handler {
	return auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if token != "good" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(h)
}

func dialAs(t *testing.T, url, token string) (*mcp.ClientSession, error) {
	transport, err := wstransport.Dial(t.Context(), url, &wstransport.DialOptions{
		Header: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		return nil, err
	}
	return mcp.NewClient(impl, nil).Connect(t.Context(), transport, nil)
}

// The principal of the handshake is that of every request over the connection.
func TestPrincipal(t *testing.T) {
	server := mcp.NewServer(impl, nil)
	tool(server, "whoami", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		inContext := auth.TokenInfoFromContext(ctx).UserID
		req.Extra.CloseSSEStream = nil // each request may write to its own
		return says(req.Extra.TokenInfo.UserID + " " + inContext + " " + req.Extra.Header.Get("Authorization")), nil
	})
	e := serve(t, server, nil, bearer)

	_, err := dialAs(t, e.url, "bad")
	var refused *wstransport.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)

	session := must(dialAs(t, e.url, "good"))(t)
	defer session.Close()
	for range 2 {
		res := must(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"}))(t)
		require.Equal(t, "ada ada Bearer good", textOf(t, res))
	}
}

// A load balancer asks every transport in one way, and gets one answer. A server that
// retires is not ready and still serves. One that has shut down is neither.
func TestReadiness(t *testing.T) {
	type front interface {
		Retire()
		Ready() bool
		ServeReady(http.ResponseWriter, *http.Request)
	}
	server := mcp.NewServer(impl, nil)
	getServer := func(*http.Request) *mcp.Server { return server }
	for name, end := range map[string]func(retire, shutdown func()){
		"retired":   func(retire, _ func()) { retire() },
		"shut down": func(_, shutdown func()) { shutdown() },
	} {
		t.Run(name, func(t *testing.T) {
			ws := must(wstransport.NewHandler(getServer, nil))(t)
			plain := must(mcphttp.NewHandler(getServer, nil))(t)
			for _, h := range []struct {
				front
				shutdown func()
			}{
				{ws, func() { require.NoError(t, ws.Shutdown(t.Context())) }},
				{plain, func() { require.NoError(t, plain.Shutdown(t.Context())) }},
			} {
				ready := func(code int, text string) {
					t.Helper()
					w := httptest.NewRecorder()
					h.ServeReady(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
					require.Equal(t, code, w.Code)
					require.Equal(t, text, w.Body.String())
					require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
					require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
					require.Equal(t, code == http.StatusOK, h.Ready())
				}
				ready(http.StatusOK, "ready\n")
				end(h.Retire, h.shutdown)
				ready(http.StatusServiceUnavailable, "not ready\n")
			}

			web, sockets := httptest.NewServer(plain), httptest.NewServer(ws)
			defer web.Close()
			defer sockets.Close()
			over := []mcp.Transport{&mcp.StreamableClientTransport{Endpoint: web.URL}}
			dialled, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(sockets.URL, "http"), nil)
			require.Equal(t, name == "shut down", err != nil)
			if err == nil {
				over = append(over, dialled)
			}
			for _, transport := range over {
				session, err := mcp.NewClient(impl, nil).Connect(t.Context(), transport, nil)
				require.Equal(t, name == "shut down", err != nil)
				if err == nil {
					require.NoError(t, session.Close())
				}
			}
		})
	}
}
