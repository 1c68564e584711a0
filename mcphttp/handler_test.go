package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/sse"
)

// front serves server through a Handler on a loopback port.
func front(t *testing.T, server *mcp.Server, opts *mcphttp.HandlerOptions) (*mcphttp.Handler, string) {
	t.Helper()
	h, err := newFront(func(*http.Request) *mcp.Server { return server }, opts)
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, h.Shutdown(ctx), "something of the test is still running")
		srv.Close()
	})
	return h, srv.URL
}

func TestBothErasOnOneURL(t *testing.T) {
	_, url := front(t, trip.NewServer(sse.Bridge(trip.Handler, nil)), nil)

	for version, rounds := range map[string]int{wire.Legacy: 1, wire.Modern: 3} {
		client := dial(t, url, &wire.Options{Version: version})
		out, err := client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, trip.Answers)
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"Ada goes to Lisbon by train"}`, string(out.Structured))
		require.Len(t, out.Questions, 2)
		require.Equal(t, rounds, out.Rounds)
		if version == wire.Modern {
			require.Empty(t, client.Asked(), "a modern client is asked by results alone")
		}
	}
}

// go-sdk's own client, which negotiates for itself, completes the tool.
func TestSDKClientThroughHandler(t *testing.T) {
	_, url := front(t, trip.NewServer(sse.Bridge(trip.Handler, nil)), nil)
	asked := 0
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			if req.Params.Message == "How?" {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"by": "train"}}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"place": "Lisbon"}}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
	require.NoError(t, err)
	defer session.Close()
	require.Equal(t, "2026-07-28", session.InitializeResult().ProtocolVersion)
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "trip", Arguments: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"text": "Ada goes to Lisbon by train"}, res.StructuredContent)
	require.Equal(t, 2, asked)
}

// On a server that holds no stream a legacy client lists all tools and uses those
// that ask nothing; the others tell it that it cannot be asked.
func TestStatelessServesLegacyClientsWhatItCan(t *testing.T) {
	server := trip.NewServer(sse.Bridge(trip.Handler, nil))
	mcp.AddTool(server, &mcp.Tool{Name: "plain"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		res, err := say("plain")
		return res, nil, err
	})
	_, url := front(t, server, &mcphttp.HandlerOptions{Stateless: true})
	client := dial(t, url, &wire.Options{Version: wire.Legacy})
	res, err := client.Exchange(t.Context(), wire.Request{Method: "tools/list"})
	require.NoError(t, err)
	var list struct{ Tools []json.RawMessage }
	require.NoError(t, json.Unmarshal(res.Result, &list))
	require.Len(t, list.Tools, 2)
	out, err := client.Call(t.Context(), "plain", map[string]any{}, nil)
	require.NoError(t, err)
	require.Equal(t, "plain", out.Text)
	out, err = client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, trip.Answers)
	require.NoError(t, err)
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
	_, url := front(t, trip.NewServer(trip.Handler), nil)
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

func TestSessionEndsByDelete(t *testing.T) {
	_, url := front(t, trip.NewServer(trip.Handler), nil)
	id := send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
	require.NotEmpty(t, id)
	in := func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", id)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	require.Contains(t, send(t, http.MethodPost, url, plainListBody, in).body, `"tools"`)
	require.Equal(t, http.StatusNoContent, send(t, http.MethodDelete, url, "", in).status)
	require.Equal(t, http.StatusNotFound, send(t, http.MethodPost, url, plainListBody, in).status)
}

func TestForeignPagesAreRefused(t *testing.T) {
	_, open := front(t, trip.NewServer(trip.Handler), nil)
	_, named := front(t, trip.NewServer(trip.Handler), &mcphttp.HandlerOptions{AllowedHosts: []string{"mcp.example"}, AllowedOrigins: []string{"https://app.example"}})
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
		h, err := newFront(func(*http.Request) *mcp.Server { return trip.NewServer(trip.Handler) }, opts)
		require.NoError(t, err)
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
	_, url := front(t, trip.NewServer(trip.Handler), &mcphttp.HandlerOptions{MaxMessageBytes: 1000})
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
