package wstransport_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/wstransport"
)

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

var impl = &mcp.Implementation{Name: "test", Version: "1"}

// patience is how long a test waits for an event that must come. within is the
// promised time in which the loss of a peer is noticed.
const (
	patience = 30 * time.Second
	within   = 5 * time.Second
)

type nothing struct{}

// tool registers a tool without arguments or output.
func tool(s *mcp.Server, name string, f func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		res, err := f(ctx, req)
		return res, nil, err
	})
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func textOf(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, res.Content, 1)
	return res.Content[0].(*mcp.TextContent).Text
}

// An endpoint is a Handler on a loopback listener.
type endpoint struct {
	handler *wstransport.Handler
	http    *httptest.Server
	url     string
	ended   chan struct{} // receives once for each ServeHTTP that returned
}

func serve(t testing.TB, server *mcp.Server, opts *wstransport.HandlerOptions, wrap ...func(http.Handler) http.Handler) *endpoint {
	t.Helper()
	var o wstransport.HandlerOptions
	if opts != nil {
		o = *opts
	}
	if !o.HasCloseGrace() { // most peers here answer no close frame
		o.Limits = o.WithCloseGrace(100 * time.Millisecond)
	}
	handler := must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, &o))(t)
	var h http.Handler = handler
	for _, w := range wrap {
		h = w(h)
	}
	e := &endpoint{handler: handler, ended: make(chan struct{}, 1024)}
	e.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { e.ended <- struct{}{} }()
		h.ServeHTTP(w, r)
	}))
	e.url = "ws" + strings.TrimPrefix(e.http.URL, "http")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, handler.Shutdown(ctx))
		e.http.Close()
	})
	return e
}

// sessionEnds waits until one connection has been served to its end.
func (e *endpoint) sessionEnds(t testing.TB) {
	t.Helper()
	receive(t, e.ended)
}

func receive[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// connect opens a session with go-sdk's client.
func connect(t testing.TB, url, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := must(wstransport.Dial(t.Context(), url, nil))(t)
	session := must(mcp.NewClient(impl, opts).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}))(t)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// dialRaw opens a connection that speaks WebSocket and nothing above it.
func dialRaw(t testing.TB, url string) *websocket.Conn {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
	ws, resp, err := dialer.DialContext(t.Context(), url, nil)
	require.NoError(t, err)
	require.Equal(t, wstransport.Subprotocol, resp.Header.Get("Sec-Websocket-Protocol"))
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

// closeCode reads until the connection ends and returns the code it ended with.
func closeCode(t testing.TB, ws *websocket.Conn) int {
	t.Helper()
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			require.ErrorAs(t, err, &closed)
			return closed.Code
		}
	}
}

func requireClose(t testing.TB, err error, code int, remote bool) {
	t.Helper()
	var closed *wstransport.CloseError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, code, closed.Code)
	require.Equal(t, remote, closed.Remote)
}

// openFiles counts the descriptors of this process.
func openFiles(t testing.TB) int {
	t.Helper()
	entries := must(os.ReadDir("/dev/fd"))(t)
	return len(entries)
}

// requireNoLeak runs f and requires that as many goroutines and descriptors are
// left as there were before.
func requireNoLeak(t *testing.T, f func()) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	f()
	begun := time.Now()
	for runtime.NumGoroutine() > goroutines || openFiles(t) > files {
		if time.Since(begun) > patience {
			stacks := make([]byte, 1<<20)
			require.FailNow(t, "left over", "%d goroutines were %d, %d descriptors were %d\n%s", runtime.NumGoroutine(), goroutines,
				openFiles(t), files, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
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
