package wstransport_test

import (
	"fmt"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

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
			require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(cancel)))
			require.Equal(t, id, string(readRPC(t, ws).ID), "the one that was cancelled")
			close(s.release)
			require.Equal(t, id+"1", string(readRPC(t, ws).ID))

			failing := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"nothing"}`, id)
			require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(failing)))
			m := readRPC(t, ws)
			require.NotNil(t, m.Error)
			require.Equal(t, id, string(m.ID))

			listen := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id)
			require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(listen)))
			_, data, err := ws.ReadMessage()
			require.NoError(t, err)
			require.Contains(t, string(data), `subscriptionId":`+id)
		})
	}
}
