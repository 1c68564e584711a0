package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"
)

// httpConn is one connection that is kept alive. It writes requests as bytes
// and reads responses with the standard library.
type httpConn struct {
	conn   net.Conn
	reader *bufio.Reader
	out    []byte
}

// DialHTTP connects to a server that speaks streamable HTTP at /mcp.
func DialHTTP(address string) (Conn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &httpConn{conn: conn, reader: bufio.NewReader(conn)}, nil
}

func (c *httpConn) Close() error { return c.conn.Close() }

func (c *httpConn) Send(tool string, request []byte) ([]byte, error) {
	c.out = fmt.Appendf(c.out[:0], "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n"+
		"Mcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s",
		c.conn.RemoteAddr(), tool, len(request), request)
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", res.Status, body)
	case strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream"):
		return lastEvent(body)
	}
	return body, nil
}

// lastEvent is the data of the last event that has any. Servers may send an
// empty one first.
func lastEvent(stream []byte) ([]byte, error) {
	var last []byte
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = bytes.TrimSpace(data)
		}
	}
	if last == nil {
		return nil, errors.New("an event stream without an event")
	}
	return last, nil
}

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
