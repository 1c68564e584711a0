package mcphttp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// TestMain collects garbage rarely: go-sdk leaves 32 KiB of it for each message.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// post is a raw request, a POST if nothing else is said. Its headers stand one on a line, as
// "Name: value". A line may also name another method, and On the address at which the request
// arrived.
type post struct{ headers, body string }

func (p post) request() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(p.body))
	for line := range strings.Lines(p.headers) {
		line = strings.TrimSuffix(line, "\n")
		switch name, value, found := strings.Cut(line, ": "); {
		case name == "On":
			address, _ := net.ResolveTCPAddr("tcp", value)
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(address)))
		case name == "From":
			r.RemoteAddr = value
		case name == "Host":
			r.Host = value
		case found:
			r.Header.Add(name, value)
		case line != "":
			r.Method = line
		}
	}
	return r
}

func (p post) with(header string) post {
	p.headers += header + "\n"
	return p
}

// in puts a request into a session, if there is one.
func (p post) in(session string) post {
	if session == "" {
		return p
	}
	return p.with("Mcp-Session-Id: " + session)
}

// clientHeaders are those that every client of the streamable transport sends.
const clientHeaders = "Content-Type: application/json\nAccept: application/json, text/event-stream\n"

const (
	versionMember      = `"io.modelcontextprotocol/protocolVersion"`
	capabilitiesMember = `"io.modelcontextprotocol/clientCapabilities"`
	clientMember       = `"io.modelcontextprotocol/clientInfo"`
	modernMeta         = `"_meta":{` + versionMember + `:"2026-07-28",` + capabilitiesMember + `:{"elicitation":{}}}`
	initializeBody     = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{}}}`
)

// modernPost is a request with its headers; name is empty where there is none.
func modernPost(method, name, body string) post {
	p := post{clientHeaders + "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: " + method + "\n", body}
	if name != "" {
		p = p.with("Mcp-Name: " + name)
	}
	return p
}

// callOf is a modern call of a tool, with further params given as JSON members.
func callOf(tool, params string) post {
	return modernPost("tools/call", tool, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,%s%s}}`, tool, params, modernMeta))
}

// legacy is a message of a legacy client.
func legacy(body string) post { return post{clientHeaders, body} }

// legacyCall is a call of the tool "tool".
func legacyCall(id string) post {
	return legacy(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"tool","arguments":{}}}`)
}

// batchOf is a batch of n pings, the ids counting from 0.
func batchOf(n int) string {
	calls := make([]string, n)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
	}
	return "[" + strings.Join(calls, ",") + "]"
}

type response struct {
	status int
	header http.Header
	body   string
}

// serve serves a request without a socket.
func serve(h http.Handler, p post) response { return serveIn(context.Background(), h, p) }

func serveIn(ctx context.Context, h http.Handler, p post) response {
	r := p.request()
	if ctx != context.Background() {
		r = r.WithContext(ctx)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return response{w.Code, w.Result().Header, w.Body.String()}
}

// begin is serveIn on a goroutine of its own.
func begin(ctx context.Context, h http.Handler, p post) <-chan response {
	answered := make(chan response, 1)
	go func() {
		defer close(answered) // also if a handler ends this goroutine
		answered <- serveIn(ctx, h, p)
	}()
	return answered
}

// send makes a request over a socket.
func send(t *testing.T, url string, p post) response {
	t.Helper()
	r := p.request()
	out := must(http.NewRequestWithContext(t.Context(), r.Method, url, strings.NewReader(p.body)))(t)
	out.Header = r.Header
	res := must(http.DefaultClient.Do(out))(t)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	if res.Close {
		res.Header.Set("Connection", "close")
	}
	return response{res.StatusCode, res.Header, string(text)}
}

// open opens a legacy session, for a user if one is named.
func open(t *testing.T, h http.Handler, user string) (session string) {
	t.Helper()
	res := serve(h, legacy(initializeBody).as(user))
	require.Equal(t, http.StatusOK, res.status, res.body)
	return res.header.Get("Mcp-Session-Id")
}

// as has a request come from a user, if [named] serves it.
func (p post) as(user string) post {
	if user == "" {
		return p
	}
	return p.with("Authorization: Bearer " + user)
}

// named takes a bearer token for the name of a user.
func named(h http.Handler) http.Handler {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if token == "unknown" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	authenticated := auth.RequireBearerToken(verify, nil)(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			h.ServeHTTP(w, r)
			return
		}
		authenticated.ServeHTTP(w, r)
	})
}

// newHandler makes a handler that the end of the test shuts down.
func newHandler(t testing.TB, server *mcp.Server, opts mcphttp.HandlerOptions, l mcphttp.Limits) *mcphttp.Handler {
	t.Helper()
	h := must(mcphttp.NewLimited(func(*http.Request) *mcp.Server { return server }, &opts, l))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, h.Shutdown(ctx), "something of the test is still running")
	})
	return h
}

// listen serves a handler on a loopback port.
func listen(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.URL
}

func dial(t *testing.T, url string, opts *wire.Options) *wire.Client {
	t.Helper()
	client := must(wire.DialHTTP(t.Context(), url, nil, opts))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

// rawServer is a server whose tool "tool" has the handler h.
func rawServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
	rendezvous.AddTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func ran(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("ran") }

func say(text string) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

// receive is what a channel has next. Only a test that would hang waits for long.
func receive[T any](t *testing.T, c <-chan T, otherwise string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		require.FailNow(t, otherwise)
		panic("unreachable")
	}
}

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
