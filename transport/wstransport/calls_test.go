package wstransport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// parkServer has a tool that waits until release is closed or its call ends.
type parkServer struct {
	server  *mcp.Server
	running atomic.Int64
	began   chan struct{}
	release chan struct{}
	cause   chan error // of each call's end that was not a release
}

func newPark() *parkServer {
	s := &parkServer{server: mcp.NewServer(impl, nil), began: make(chan struct{}, 100), release: make(chan struct{}), cause: make(chan error, 100)}
	tool(s.server, "wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.running.Add(1)
		defer s.running.Add(-1)
		s.began <- struct{}{}
		select {
		case <-s.release:
		case <-ctx.Done():
			s.cause <- context.Cause(ctx)
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

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// callOf is a modern call of the tool "wait". extra are members of its params, each with a
// comma after it.
func callOf(id, extra string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait","arguments":{},%s%s}}`, id, extra, modernMeta)
}

func callTheTool(t *testing.T, ws *websocket.Conn, id string) {
	t.Helper()
	write(t, ws, callOf(id, ""))
}

// listen subscribes to notifications, given as JSON.
func listen(id, notifications string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":%s,%s}}`, id, notifications, modernMeta)
}

func write(t testing.TB, ws *websocket.Conn, text string) {
	t.Helper()
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text)))
}

// exchange writes a message and reads the next.
func exchange(t *testing.T, ws *websocket.Conn, text string) rpc {
	t.Helper()
	write(t, ws, text)
	return readRPC(t, ws)
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
	for _, id := range []string{"1", "2"} {
		callTheTool(t, ws, id)
		receive(t, s.began)
	}
	requireRefused(t, exchange(t, ws, callOf("3", "")), "3", -31000)
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
		requireRefused(t, exchange(t, ws, callOf("1", `"another":1,`)), "1", -32600)
	}
	requireRefused(t, exchange(t, ws, callOf("2", "")), "2", -31000)
	require.EqualValues(t, 1, s.running.Load())
	close(s.release)
	require.NotEmpty(t, readRPC(t, ws).Result)
}

// A call that arrives again while it is in flight gets the answer too, up to a bound, and
// its tool runs once.
func TestACallThatArrivesTwiceInFlightRunsOnce(t *testing.T) {
	s := newPark()
	e := serve(t, s.server, &wstransport.HandlerOptions{MaxCallsPerConnection: 1})
	ws := dialRaw(t, e.url)
	for range 9 {
		callTheTool(t, ws, "1")
	}
	receive(t, s.began)
	requireRefused(t, exchange(t, ws, callOf("1", "")), "1", -32600)
	close(s.release)
	for range 9 {
		answer := readRPC(t, ws)
		require.Equal(t, "1", string(answer.ID))
		require.NotEmpty(t, answer.Result)
	}
	callTheTool(t, ws, "2")
	require.Equal(t, "2", string(readRPC(t, ws).ID), "nothing follows the answers")
	require.Len(t, s.began, 1, "the second call's")
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
	requireRefused(t, exchange(t, two, callOf("2", "")), "2", -31000)
	callTheTool(t, bob, "1")
	receive(t, s.began)
	requireRefused(t, exchange(t, bob, callOf("2", "")), "2", -31000)
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

// An id is answered as it came, two that round to one number are two, and a
// cancellation finds its call.
func TestLargeIDsSurvive(t *testing.T) {
	for _, id := range []string{
		"9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
		"9223372036854775807", "18446744073709551615", "18446744073709551616", "123456789012345678901234567890",
	} {
		t.Run(id, func(t *testing.T) {
			s := newPark()
			ws := dialRaw(t, serve(t, s.server, nil).url)
			callTheTool(t, ws, id)
			receive(t, s.began)
			callTheTool(t, ws, id+"1")
			receive(t, s.began)
			cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"r","requestId":%s,"_meta":{}}}`, id)
			require.Equal(t, id, string(exchange(t, ws, cancel).ID), "the one that was cancelled")
			close(s.release)
			require.Equal(t, id+"1", string(readRPC(t, ws).ID))

			failing := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"nothing"}`, id)
			m := exchange(t, ws, failing)
			require.NotNil(t, m.Error)
			require.Equal(t, id, string(m.ID))

			write(t, ws, listen(id, `{"toolsListChanged":true}`))
			_, data, err := ws.ReadMessage()
			require.NoError(t, err)
			require.Contains(t, string(data), `subscriptionId":`+id)
		})
	}
}

// A call whose answers can be read in two ways does not run, and is told the member.
func TestAnswersThatStandTwiceAreRefused(t *testing.T) {
	for explanation, answers := range map[string]string{
		"sum":            `{"a":{"action":"accept","content":{"sum":10,"sum":1000}}}`,
		"action":         `{"a":{"action":"decline","\u0061ction":"accept"}}`,
		"a":              `{"a":{"action":"decline"},"a":{"action":"accept"}}`,
		"inputResponses": `{},"inputResponses":{}`,
	} {
		t.Run(explanation, func(t *testing.T) {
			s := newPark()
			ws := dialRaw(t, serve(t, s.server, nil).url)
			write(t, ws, callOf("7", `"inputResponses":`+answers+`,`))
			require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
			_, data, err := ws.ReadMessage()
			require.NoError(t, err)
			require.Contains(t, string(data), `"id":7,"error":{"code":-32602,"message":"invalid params: `)
			require.Contains(t, string(data), fmt.Sprintf(` two members \"%s\""`, explanation))
			require.Zero(t, len(s.began))
			callTheTool(t, ws, "7") // the id is free again
			receive(t, s.began)
			close(s.release)
			require.NotNil(t, readRPC(t, ws).Result)
		})
	}
}

// The answer of a legacy client that stands twice ends its question, and nothing else.
func TestAnAnswerOverTheSessionThatStandsTwiceEndsItsQuestion(t *testing.T) {
	asked := make(chan error, 2)
	server := mcp.NewServer(impl, nil)
	tool(server, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, wire.TextForm("q?", "q"))
		asked <- err
		return says("over"), nil
	})
	ws := dialRaw(t, serve(t, server, nil).url)
	send := func(text string) { require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text))) }
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{"elicitation":{}}}}`)
	require.NotNil(t, readRPC(t, ws).Result)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, answer := range []string{`"action":"decline","action":"accept"`, `"action":"accept"`} {
		send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		question := readRPC(t, ws)
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s,"content":{"q":"yes"}}}`, question.ID, answer))
		require.NotNil(t, readRPC(t, ws).Result)
	}
	require.ErrorContains(t, <-asked, `an answer has two members "action"`)
	require.NoError(t, <-asked)
}

func initializeWith(filling int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":%q,"version":"1"},"capabilities":{}}}`, strings.Repeat("x", filling))
}

// The messages that open a session are bounded, each by itself and all together.
func TestInitializeIsBounded(t *testing.T) {
	server := mcp.NewServer(impl, nil)
	e := serve(t, server, &wstransport.HandlerOptions{MaxConnections: 10, MaxInitializeBytes: 10_000})
	one := dialRaw(t, e.url)
	requireRefused(t, exchange(t, one, initializeWith(10_001)), "1", -32600)
	require.NotNil(t, exchange(t, one, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).Error, "nothing was opened")
	require.NotNil(t, exchange(t, one, initializeWith(9_000)).Result)
	two, three, four := dialRaw(t, e.url), dialRaw(t, e.url), dialRaw(t, e.url)
	require.NotNil(t, exchange(t, two, initializeWith(9_000)).Result)
	require.NotNil(t, exchange(t, three, initializeWith(9_000)).Result)
	requireRefused(t, exchange(t, four, initializeWith(9_000)), "1", -31000)
	require.NoError(t, one.Close())
	require.Eventually(t, func() bool { return exchange(t, four, initializeWith(9_000)).Error == nil }, patience, 10*time.Millisecond)

	notice := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"x":%q}}}`, strings.Repeat("x", 5_000))
	write(t, two, notice)
	require.Equal(t, 1009, closeCode(t, two))
}

// The subscriptions of a client are bounded.
func TestSubscriptionsAreBounded(t *testing.T) {
	server := mcp.NewServer(impl, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	ws := dialRaw(t, serve(t, server, nil).url)
	send := func(method, address string) rpc {
		return exchange(t, ws, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, address))
	}
	require.NotNil(t, exchange(t, ws, initializeWith(1)).Result)
	write(t, ws, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range 1000 {
		require.NotNil(t, send("resources/subscribe", fmt.Sprintf("test://%d", i)).Result)
	}
	requireRefused(t, send("resources/subscribe", "test://more"), "1", -31000)
	require.NotNil(t, send("resources/unsubscribe", "test://1").Result)
	require.NotNil(t, send("resources/subscribe", "test://more").Result)
	many := listen("2", fmt.Sprintf(`{"resourceSubscriptions":[%q]}`, strings.Repeat("x", 70_000)))
	requireRefused(t, exchange(t, ws, many), "2", -32602)
}
