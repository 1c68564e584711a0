package wstransport_test

import (
	"context"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

func TestShutdownAnswersWhatItCutsOff(t *testing.T) {
	s := newPark()
	e := serve(t, s.server, nil)
	ws := dialRaw(t, e.url)
	for _, id := range []string{"1", "2"} {
		callTheTool(t, ws, id)
		receive(t, s.began)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	shut := make(chan error, 1)
	go func() { shut <- e.handler.Shutdown(over) }()
	ids := []string{}
	for range 2 {
		m := readRPC(t, ws)
		requireRefused(t, m, string(m.ID), 1001)
		ids = append(ids, string(m.ID))
	}
	require.ElementsMatch(t, []string{"1", "2"}, ids)
	require.Equal(t, 1001, closeCode(t, ws), "nothing comes twice")
	require.ErrorIs(t, receive(t, shut), context.Canceled)
}

func TestShutdownCompletesSubscriptions(t *testing.T) {
	e := serve(t, newPark().server, nil)
	ws := dialRaw(t, e.url)
	const listen = `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(listen)))
	require.Nil(t, readRPC(t, ws).ID, "acknowledged")
	shut := make(chan error, 1)
	go func() { shut <- e.handler.Shutdown(t.Context()) }()
	end := readRPC(t, ws)
	require.Equal(t, "9", string(end.ID))
	require.JSONEq(t, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":9}}`, string(end.Result))
	require.Equal(t, 1001, closeCode(t, ws))
	require.NoError(t, receive(t, shut))
}
