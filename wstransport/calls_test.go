package wstransport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

// parkServer has a tool that waits until release is closed or its call ends.
type parkServer struct {
	server  *mcp.Server
	running atomic.Int64
	began   chan struct{}
	release chan struct{}
}

func newPark() *parkServer {
	s := &parkServer{server: mcp.NewServer(impl, nil), began: make(chan struct{}, 100), release: make(chan struct{})}
	tool(s.server, "wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.running.Add(1)
		defer s.running.Add(-1)
		s.began <- struct{}{}
		select {
		case <-s.release:
		case <-ctx.Done():
		}
		return says("over"), nil
	})
	return s
}

// rpc is a message as a raw peer reads it.
type rpc struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct{ Code int }
}

func callTheTool(t *testing.T, ws *websocket.Conn, id string) {
	t.Helper()
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id)
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text)))
}

func readRPC(t *testing.T, ws *websocket.Conn) rpc {
	t.Helper()
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
	_, data, err := ws.ReadMessage()
	require.NoError(t, err)
	var m rpc
	require.NoError(t, json.Unmarshal(data, &m), string(data))
	return m
}

func requireRefused(t *testing.T, m rpc, id string, code int) {
	t.Helper()
	require.Equal(t, id, string(m.ID))
	require.NotNil(t, m.Error)
	require.Equal(t, code, m.Error.Code)
}

// named gives every connection the user that its Authorization header names.
func named(h http.Handler) http.Handler {
	return auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(h)
}

func dialUser(t *testing.T, url, user string) (*websocket.Conn, int) {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
	ws, resp, err := dialer.DialContext(t.Context(), url, http.Header{"Authorization": {"Bearer " + user}})
	if err == nil {
		t.Cleanup(func() { _ = ws.Close() })
	}
	return ws, resp.StatusCode
}

// Calls beyond the cap get an error of their own and no handler; when one ends,
// another may begin.
func TestCallsInFlightAreCapped(t *testing.T) {
	s := newPark()
	e := serve(t, s.server, &wstransport.HandlerOptions{MaxCallsPerConnection: 2})
	ws := dialRaw(t, e.url)
	callTheTool(t, ws, "1")
	callTheTool(t, ws, "2")
	receive(t, s.began)
	receive(t, s.began)
	callTheTool(t, ws, "3")
	requireRefused(t, readRPC(t, ws), "3", -31000)
	require.EqualValues(t, 2, s.running.Load())
	callTheTool(t, dialRaw(t, e.url), "1")
	receive(t, s.began)
	close(s.release)
	require.NotEmpty(t, readRPC(t, ws).Result)
	require.NotEmpty(t, readRPC(t, ws).Result)
	callTheTool(t, ws, "4")
	require.Equal(t, "4", string(readRPC(t, ws).ID))
}

// An id that is in flight is not a way round the cap, and its refusal does not
// settle the first call.
func TestAnIDInFlightIsRefused(t *testing.T) {
	s := newPark()
	e := serve(t, s.server, &wstransport.HandlerOptions{MaxCallsPerConnection: 1})
	ws := dialRaw(t, e.url)
	callTheTool(t, ws, "1")
	receive(t, s.began)
	for range 5 {
		callTheTool(t, ws, "1")
		requireRefused(t, readRPC(t, ws), "1", -32600)
	}
	callTheTool(t, ws, "2")
	requireRefused(t, readRPC(t, ws), "2", -31000)
	require.EqualValues(t, 1, s.running.Load())
	close(s.release)
	require.NotEmpty(t, readRPC(t, ws).Result)
}

// The calls of one user in flight are counted over their connections, and given
// back when a connection is lost.
func TestCallsOfAPrincipalAreCapped(t *testing.T) {
	s := newPark()
	e := serve(t, s.server, &wstransport.HandlerOptions{MaxCallsPerPrincipal: 2, MaxCalls: 3}, named)
	one, _ := dialUser(t, e.url, "alice")
	two, _ := dialUser(t, e.url, "alice")
	bob, _ := dialUser(t, e.url, "bob")
	callTheTool(t, one, "1")
	callTheTool(t, two, "1")
	receive(t, s.began)
	receive(t, s.began)
	callTheTool(t, two, "2")
	requireRefused(t, readRPC(t, two), "2", -31000)
	callTheTool(t, bob, "1")
	receive(t, s.began)
	callTheTool(t, bob, "2")
	requireRefused(t, readRPC(t, bob), "2", -31000)
	require.NoError(t, one.Close())
	e.sessionEnds(t)
	callTheTool(t, two, "3")
	receive(t, s.began)
}

func TestConnectionsAreBounded(t *testing.T) {
	e := serve(t, newPark().server, &wstransport.HandlerOptions{MaxConnections: 3, MaxConnectionsPerPrincipal: 2}, named)
	status := func(user string) int {
		_, status := dialUser(t, e.url, user)
		return status
	}
	first, _ := dialUser(t, e.url, "alice")
	require.Equal(t, http.StatusSwitchingProtocols, status("alice"))
	require.Equal(t, http.StatusTooManyRequests, status("alice"))
	e.sessionEnds(t)
	require.Equal(t, http.StatusSwitchingProtocols, status("bob"))
	require.Equal(t, http.StatusServiceUnavailable, status("bob"))
	e.sessionEnds(t)
	require.NoError(t, first.Close())
	e.sessionEnds(t)
	require.Equal(t, http.StatusSwitchingProtocols, status("bob"))
}

// An id may be used again, and the next call made, as soon as the answer is read.
func TestAnAnswerFreesItsPlace(t *testing.T) {
	s := newPark()
	close(s.release)
	ws := dialRaw(t, serve(t, s.server, &wstransport.HandlerOptions{MaxCallsPerConnection: 1}).url)
	for range 300 {
		callTheTool(t, ws, "1")
		receive(t, s.began)
		require.NotEmpty(t, readRPC(t, ws).Result)
	}
}
