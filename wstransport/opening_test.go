package wstransport_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

func initializeWith(filling int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":%q,"version":"1"},"capabilities":{}}}`, strings.Repeat("x", filling))
}

// The messages that open a session are bounded, each by itself and all together.
func TestInitializeIsBounded(t *testing.T) {
	server := mcp.NewServer(impl, nil)
	e := serve(t, server, &wstransport.HandlerOptions{MaxConnections: 10, MaxInitializeBytes: 10_000})
	send := func(ws *websocket.Conn, text string) rpc {
		require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text)))
		return readRPC(t, ws)
	}
	one := dialRaw(t, e.url)
	requireRefused(t, send(one, initializeWith(10_001)), "1", -32600)
	require.NotNil(t, send(one, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).Error, "nothing was opened")
	require.NotNil(t, send(one, initializeWith(9_000)).Result)
	two, three, four := dialRaw(t, e.url), dialRaw(t, e.url), dialRaw(t, e.url)
	require.NotNil(t, send(two, initializeWith(9_000)).Result)
	require.NotNil(t, send(three, initializeWith(9_000)).Result)
	requireRefused(t, send(four, initializeWith(9_000)), "1", -31000)
	require.NoError(t, one.Close())
	require.Eventually(t, func() bool { return send(four, initializeWith(9_000)).Error == nil }, patience, 10*time.Millisecond)

	notice := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"x":%q}}}`, strings.Repeat("x", 5_000))
	require.NoError(t, two.WriteMessage(websocket.TextMessage, []byte(notice)))
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
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, address)
		require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text)))
		return readRPC(t, ws)
	}
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(initializeWith(1))))
	require.NotNil(t, readRPC(t, ws).Result)
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)))
	for i := range 1000 {
		require.NotNil(t, send("resources/subscribe", fmt.Sprintf("test://%d", i)).Result)
	}
	requireRefused(t, send("resources/subscribe", "test://more"), "1", -31000)
	require.NotNil(t, send("resources/unsubscribe", "test://1").Result)
	require.NotNil(t, send("resources/subscribe", "test://more").Result)
	listen := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%q]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, strings.Repeat("x", 70_000))
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(listen)))
	requireRefused(t, readRPC(t, ws), "2", -32602)
}
