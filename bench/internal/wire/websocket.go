package wire

import (
	"fmt"

	"github.com/gorilla/websocket"
)

// socket is one WebSocket connection.
type socket struct{ *websocket.Conn }

// DialWebSocket connects to a server that speaks MCP over WebSocket at /mcp.
func DialWebSocket(address string) (Conn, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"mcp"}}
	conn, _, err := dialer.Dial("ws://"+address+"/mcp", nil)
	if err != nil {
		return nil, fmt.Errorf("dialing %s: %w", address, err)
	}
	return &socket{conn}, nil
}

func (s *socket) Send(_ string, request []byte) ([]byte, error) {
	if err := s.WriteMessage(websocket.TextMessage, request); err != nil {
		return nil, err
	}
	_, response, err := s.ReadMessage()
	return response, err
}
