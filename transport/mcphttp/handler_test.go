package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// front serves server through a Handler on a loopback port. The handler shuts down first.
func front(t *testing.T, server *mcp.Server, opts *mcphttp.HandlerOptions) (*mcphttp.Handler, string) {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	t.Cleanup(srv.Close)
	h := newHandler(t, server, opts)
	srv.Config.Handler = h
	srv.Start()
	return h, srv.URL
}

func TestBothErasOnOneURL(t *testing.T) {
	_, url := front(t, wire.NewTripServer(sse.Bridge(wire.Trip, nil)), nil)

	for version, rounds := range map[string]int{wire.Legacy: 1, wire.Modern: 3} {
		client := dial(t, url, &wire.Options{Version: version})
		out := must(client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.TripAnswers))(t)
		require.JSONEq(t, `{"text":"Ada goes to Lisbon by train"}`, string(out.Structured))
		require.Len(t, out.Questions, 2)
		require.Equal(t, rounds, out.Rounds)
		if version == wire.Modern {
			require.Empty(t, client.Asked(), "a modern client is asked by results alone")
		}
	}
}

// On a server that holds no stream a legacy client lists all tools and uses those
// that ask nothing; the others tell it that it cannot be asked.
func TestStatelessServesLegacyClientsWhatItCan(t *testing.T) {
	server := wire.NewTripServer(sse.Bridge(wire.Trip, nil))
	mcp.AddTool(server, &mcp.Tool{Name: "plain"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		res, err := say("plain")
		return res, nil, err
	})
	_, url := front(t, server, &mcphttp.HandlerOptions{Stateless: true})
	client := dial(t, url, &wire.Options{Version: wire.Legacy})
	res := must(client.Exchange(t.Context(), wire.Request{Method: "tools/list"}))(t)
	var list struct{ Tools []json.RawMessage }
	require.NoError(t, json.Unmarshal(res.Result, &list))
	require.Len(t, list.Tools, 2)
	out := must(client.Call(t.Context(), "plain", map[string]any{}, nil))(t)
	require.Equal(t, "plain", out.Text)
	out = must(client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.TripAnswers))(t)
	require.True(t, out.IsError)
	require.Contains(t, out.Text, "cannot be asked")
	require.Empty(t, client.Asked())
	require.Equal(t, http.StatusMethodNotAllowed, send(t, http.MethodGet, url, "", nil).status)
}

const (
	initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{}}}`
	modernListBody = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	plainListBody  = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
)

// batchOf is a batch of n calls, the ids counting from 0.
func batchOf(n int) string {
	calls := make([]string, n)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
	}
	return "[" + strings.Join(calls, ",") + "]"
}

func TestRouting(t *testing.T) {
	_, url := front(t, wire.NewTripServer(wire.Trip), nil)
	const mismatch = `"code":-32020`
	cases := []struct {
		explanation string
		method      string
		version     string
		body        string
		mcpMethod   string
		status      int
		says        string
		session     bool
	}{
		{explanation: "initialize opens a session", body: initializeBody, status: 200, says: `"protocolVersion":"2025-11-25"`, session: true},
		{explanation: "initialize with its version in the header", version: "2025-11-25", body: initializeBody, status: 200, says: `"protocolVersion":"2025-11-25"`, session: true},
		{explanation: "header and body modern", version: "2026-07-28", mcpMethod: "tools/list", body: modernListBody, status: 200, says: `"resultType":"complete"`},
		{explanation: "body modern, header missing: the stateless handler names the header", body: modernListBody, status: 400, says: mismatch},
		{explanation: "body modern, header legacy", version: "2025-11-25", body: modernListBody, status: 400, says: mismatch},
		{explanation: "header modern, body legacy", version: "2026-07-28", mcpMethod: "tools/list", body: plainListBody, status: 400, says: `_meta`},
		{explanation: "header modern, body initialize: there is none in that revision", version: "2026-07-28", mcpMethod: "initialize", body: initializeBody, status: 400, says: `_meta`},
		{explanation: "neither: a call without session", body: plainListBody, status: 200, says: "invalid during session initialization"},
		{explanation: "an unknown legacy version", version: "2020-01-01", body: plainListBody, status: 400, says: "Unsupported protocol version"},
		{explanation: "no JSON", body: `{`, status: 400, says: "malformed"},
		{explanation: "nothing", body: ``, status: 400, says: "malformed"},
		{explanation: "half a batch", body: `[` + plainListBody, status: 400, says: "malformed"},
		{explanation: "an empty batch", body: `[]`, status: 400, says: "malformed"},
		{explanation: "body modern and a second params of another case", body: strings.TrimSuffix(modernListBody, "}") + `,"Params":{}}`, status: 400, says: mismatch},
		{explanation: "the longest batch", body: batchOf(100), status: 200, says: `"id":99`},
		{explanation: "a batch too long", body: batchOf(101), status: 413, says: "100 messages"},
		{explanation: "a GET without session", method: http.MethodGet, status: 400, says: "Mcp-Session-Id"},
		{explanation: "a modern GET", method: http.MethodGet, version: "2026-07-28", status: 405},
		{explanation: "a DELETE without session", method: http.MethodDelete, status: 400, says: "Mcp-Session-Id"},
		{explanation: "a PUT", method: http.MethodPut, status: 405},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = http.MethodPost
			}
			res := send(t, method, url, c.body, func(r *http.Request) {
				if c.version != "" {
					r.Header.Set("Mcp-Protocol-Version", c.version)
				}
				if c.mcpMethod != "" {
					r.Header.Set("Mcp-Method", c.mcpMethod)
				}
			})
			require.Equal(t, c.status, res.status, res.body)
			require.Contains(t, res.body, c.says)
			require.Equal(t, c.session, res.header.Get("Mcp-Session-Id") != "")
		})
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	_, open := front(t, wire.NewTripServer(wire.Trip), nil)
	_, named := front(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{AllowedHosts: []string{"mcp.example"}, AllowedOrigins: []string{"https://app.example"}})
	cases := []struct {
		explanation string
		url         string
		method      string
		host        string
		origin      string
		allowed     bool
	}{
		{explanation: "a program", url: open, allowed: true},
		{explanation: "the server's own page", url: open, host: "localhost:80", origin: "http://localhost:80", allowed: true},
		{explanation: "a foreign page", url: open, origin: "https://evil.example"},
		{explanation: "a foreign page opening the stream", url: open, method: http.MethodGet, origin: "https://evil.example"},
		{explanation: "a sandboxed page", url: open, origin: "null"},
		{explanation: "a page whose name was rebound", url: open, host: "evil.example", origin: "http://evil.example"},
		{explanation: "a rebound name and no origin", url: open, method: http.MethodGet, host: "evil.example:80"},
		{explanation: "a name that only begins like loopback", url: open, host: "localhost.evil.example"},
		{explanation: "loopback by number", url: open, host: "[::1]:8080", allowed: true},
		{explanation: "loopback, fully qualified", url: open, host: "LOCALHOST.", allowed: true},
		{explanation: "the name it is known by", url: named, host: "MCP.example:443", allowed: true},
		{explanation: "loopback beside that name", url: named, host: "127.0.0.1", allowed: true},
		{explanation: "another name", url: named, host: "other.example"},
		{explanation: "a trusted origin", url: named, host: "mcp.example", origin: "https://app.example", allowed: true},
		{explanation: "its plain twin", url: named, host: "mcp.example", origin: "http://app.example"},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			method, body := c.method, initializeBody
			if method == "" {
				method = http.MethodPost
			} else {
				body = ""
			}
			res := send(t, method, c.url, body, func(r *http.Request) {
				if c.host != "" {
					r.Host = c.host
				}
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
			})
			if c.allowed {
				require.Equal(t, http.StatusOK, res.status, res.body)
			} else {
				require.Equal(t, http.StatusForbidden, res.status, res.body)
			}
		})
	}
}

// On a connection that does not end at loopback, AllowedHosts alone decides.
func TestForeignHostsAreRefused(t *testing.T) {
	status := func(opts *mcphttp.HandlerOptions, host string) int {
		h := newHandler(t, wire.NewTripServer(wire.Trip), opts)
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	named := &mcphttp.HandlerOptions{AllowedHosts: []string{"mcp.example"}}
	require.Equal(t, http.StatusMethodNotAllowed, status(nil, "any.example"))
	require.Equal(t, http.StatusMethodNotAllowed, status(named, "mcp.example"))
	require.Equal(t, http.StatusForbidden, status(named, "any.example"))
	require.Equal(t, http.StatusForbidden, status(named, "localhost"))
}

func TestOversizedBody(t *testing.T) {
	t.Parallel() // net/http waits before it closes such a connection
	_, url := front(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{MaxMessageBytes: 1000})
	big := strings.Replace(modernListBody, `"params":{`, `"params":{"x":"`+strings.Repeat("x", 1000)+`",`, 1)
	for _, version := range []string{"", "2025-11-25", "2026-07-28"} {
		res := send(t, http.MethodPost, url, big, func(r *http.Request) {
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Method", "tools/list")
		})
		require.Equal(t, http.StatusRequestEntityTooLarge, res.status, version)
	}
	require.Equal(t, http.StatusOK, send(t, http.MethodPost, url, initializeBody, nil).status)
}

func TestHandlerOptionsAreChecked(t *testing.T) {
	for _, o := range []mcphttp.HandlerOptions{
		{MaxMessageBytes: -1}, {MaxInitializeBytes: -1}, {MaxSessions: -1}, {MaxSessionsPerPrincipal: -1}, {MaxCalls: -1}, {MaxCallsPerPrincipal: -1}, {MaxCallsPerSession: -1}, {SessionTimeout: -1}, {BodyTimeout: -1}, {WriteTimeout: -1}, {Heartbeat: -1},
		{AllowedHosts: []string{""}}, {AllowedHosts: []string{"mcp.example:80"}}, {AllowedHosts: []string{"MCP.example"}}, {AllowedHosts: []string{"http://mcp.example"}}, {AllowedHosts: []string{"mcp.example/x"}},
		{AllowedOrigins: []string{"app.example"}}, {AllowedOrigins: []string{"https://app.example/path"}},
	} {
		_, err := newFront(func(*http.Request) *mcp.Server { return nil }, &o)
		require.ErrorContains(t, err, "mcphttp: ", o)
		var usage *mcphttp.UsageError
		require.ErrorAs(t, err, &usage)
	}
	_, err := mcphttp.NewHandler(nil, nil)
	var usage *mcphttp.UsageError
	require.ErrorAs(t, err, &usage)
}

// A page of a listed origin may send the headers that a client sends and read those that
// it needs; any other learns nothing.
func TestListedOriginsMayUseIt(t *testing.T) {
	h := newHandler(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{AllowedOrigins: []string{"https://app.example"}})
	refusesAll := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	})
	ask := func(h http.Handler, method, origin string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/", nil)
		r.Header.Set("Origin", origin)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const wanted = "authorization,content-type,mcp-param-city,mcp-protocol-version,mcp-session-id"
	for _, front := range []http.Handler{h, h.WithCORS(refusesAll)} {
		w := ask(front, http.MethodOptions, "https://App.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", wanted)
		require.Equal(t, http.StatusNoContent, w.Code)
		require.Equal(t, "https://App.example", w.Header().Get("Access-Control-Allow-Origin"))
		require.Equal(t, "GET, POST, DELETE", w.Header().Get("Access-Control-Allow-Methods"))
		require.Equal(t, wanted, w.Header().Get("Access-Control-Allow-Headers"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))

		w = ask(front, http.MethodGet, "https://app.example")
		require.GreaterOrEqual(t, w.Code, 400)
		require.Equal(t, "https://app.example", w.Header().Get("Access-Control-Allow-Origin"), "refusals can be read")
		require.Contains(t, w.Header().Get("Access-Control-Expose-Headers"), "Mcp-Session-Id")
		require.Equal(t, "Origin", w.Header().Get("Vary"))

		w = ask(front, http.MethodOptions, "https://evil.example", "Access-Control-Request-Method", "POST")
		require.GreaterOrEqual(t, w.Code, 400)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}

	closed := newHandler(t, wire.NewTripServer(wire.Trip), nil)
	w := ask(closed, http.MethodOptions, "http://example.com", "Access-Control-Request-Method", "POST")
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), "nobody is listed")

	o := newOpener(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Origin", "https://app.example")
		h.ServeHTTP(w, r)
	}))
	opened := o.post("", "", initializeBody)
	require.Equal(t, http.StatusOK, opened.Code)
	require.NotEmpty(t, opened.Header().Get("Mcp-Session-Id"))
	require.Equal(t, "https://app.example", opened.Header().Get("Access-Control-Allow-Origin"))
}
