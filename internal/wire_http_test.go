package internal_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

// respond dials a server that answers every POST in the same way.
func respond(t *testing.T, status int, kind, body string) *wire.Client {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		for i, piece := range strings.SplitAfter(body, "\n\n") {
			if i > 0 {
				time.Sleep(10 * time.Millisecond) // for a client that does not wait
			}
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(front.Close)
	client, err := wire.DialHTTP(t.Context(), front.URL, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

const ok = `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`

func TestHTTPResponses(t *testing.T) {
	cases := []struct {
		explanation string
		status      int
		kind, body  string
		fails       string
		surplus     int
	}{
		{"one JSON message", 200, "application/json", ok, "", 0},
		{"an error in the body of an error", 400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"no"}}`, "", 0},
		{"an event over several lines", 200, "text/event-stream; charset=utf-8", "id: 1\ndata: {\"jsonrpc\":\"2.0\",\ndata:\"id\":1,\"result\":{}}\r\n\r\n", "", 0},
		{"events without data, then one without an end", 200, "text/event-stream", "retry: 5\n\nid: 0\ndata:\n\ndata: " + ok + "\n\ndata: " + ok, "", 0},
		{"two answers in one stream", 200, "text/event-stream", "data: " + ok + "\n\ndata: " + ok + "\n\n", "", 1},
		{"an answer to another request", 200, "application/json", strings.Replace(ok, `"id":1`, `"id":"1"`, 1), "without an answer", 1},
		{"a stream without an answer", 200, "text/event-stream", "", "without an answer", 0},
		{"accepted, and nothing more", 202, "", "", "without an answer", 0},
		{"text", 503, "text/plain", "shutting down\n", `HTTP status 503 Service Unavailable, and no JSON-RPC message: "shutting down"`, 0},
		{"an event that is no message", 200, "text/event-stream", "data: {}\n\n", "no JSON-RPC message", 0},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			client := respond(t, c.status, c.kind, c.body)
			res, err := client.Exchange(t.Context(), wire.Request{Name: "t"})
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
			} else {
				require.NoError(t, err)
				require.Equal(t, 1+c.surplus, client.Responses(res.ID))
				require.Equal(t, c.status, client.Messages()[1].Status)
			}
			require.Equal(t, c.surplus, client.Surplus())
		})
	}
}

// The headers agree with the body.
func TestHTTPHeaders(t *testing.T) {
	var seen []string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		seen = append(seen, fmt.Sprintf("%s|%s|%s|%s", h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Session-Id")))
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"id"`) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Mcp-Session-Id", "s")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Replace(`{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18"}}`, "ID", fmt.Sprint(len(seen)), 1))
	}))
	defer front.Close()
	modern, err := wire.DialHTTP(t.Context(), front.URL, front.Client(), nil)
	require.NoError(t, err)
	defer modern.Close()
	for _, r := range []wire.Request{
		{Name: "t"}, {Method: "resources/read", Name: "r://x"}, {Method: "tools/list"},
		{Method: "tools/call", Params: map[string]any{"name": "t", "_meta": map[string]any{mcp.MetaKeyProtocolVersion: "2025-11-25"}}},
	} {
		_, err := modern.Exchange(t.Context(), r)
		require.NoError(t, err)
	}
	require.Equal(t, []string{
		"2026-07-28|tools/call|t|", "2026-07-28|resources/read|r://x|s", "2026-07-28|tools/list||s", "2025-11-25|||s",
	}, seen)

	seen = nil
	legacy, err := wire.DialHTTP(t.Context(), front.URL, nil, &wire.Options{Version: wire.Legacy})
	require.NoError(t, err)
	defer legacy.Close()
	require.Equal(t, []string{"|||", "2025-06-18|||s"}, seen, "the version that was negotiated")
}

// The end of a request's context, and closing, end the request on the server.
func TestHangingUpOverHTTP(t *testing.T) {
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	front := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices only then
		began <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	defer front.Close()
	client, err := wire.DialHTTP(t.Context(), front.URL, nil, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := client.Start(ctx, wire.Request{Name: "t"})
	require.NoError(t, err)
	receive(t, began)
	cancel()
	receive(t, ended)
	_, err = p.Wait(t.Context())
	require.ErrorIs(t, err, context.Canceled)

	p, err = client.Start(t.Context(), wire.Request{Name: "t"})
	require.NoError(t, err)
	receive(t, began)
	require.NoError(t, client.Close())
	receive(t, ended)
	_, err = p.Wait(t.Context())
	require.Error(t, err)
	_, err = client.Start(t.Context(), wire.Request{Name: "t"})
	require.ErrorContains(t, err, "the connection is gone")
	require.NoError(t, client.Close(), "again is harmless")
}

func receive(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		require.FailNow(t, "nothing came")
	}
}
