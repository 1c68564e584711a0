package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	net.Conn
	reader *bufio.Reader
	out    []byte
}

// HTTP connects to a server that speaks streamable HTTP at /mcp.
func HTTP(address string) (Client, error) {
	c, err := dialHTTP(address)
	return modern{c}, err
}

func dialHTTP(address string) (*httpConn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &httpConn{Conn: conn, reader: bufio.NewReader(conn)}, nil
}

// post sends a request with these headers, each with its line break.
func (c *httpConn) post(headers string, body []byte) (*http.Response, error) {
	c.out = fmt.Appendf(c.out[:0], "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", c.RemoteAddr(), headers, len(body), body)
	if _, err := c.Write(c.out); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.reader, nil)
}

func (c *httpConn) send(method, name string, request []byte) ([]byte, error) {
	headers := "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n"
	if name != "" {
		headers += "Mcp-Name: " + name + "\r\n"
	}
	res, err := c.post(headers, request)
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
	case isStream(res):
		return lastEvent(body)
	}
	return body, nil
}

func isStream(res *http.Response) bool {
	return strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
}

// eventData is the data in a line of an event stream, nil if it has none. Servers may
// send an empty event first.
func eventData(line []byte) []byte {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
		return nil
	}
	return data
}

func lastEvent(stream []byte) ([]byte, error) {
	var last []byte
	for line := range bytes.Lines(stream) {
		if data := eventData(line); data != nil {
			last = data
		}
	}
	if last == nil {
		return nil, errNoEvent
	}
	return last, nil
}

// socket is one WebSocket connection.
type socket struct{ *websocket.Conn }

// WebSocket connects to a server that speaks MCP over WebSocket at /mcp.
func WebSocket(address string) (Client, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"mcp"}}
	conn, _, err := dialer.Dial("ws://"+address+"/mcp", nil)
	if err != nil {
		return nil, fmt.Errorf("dialing %s: %w", address, err)
	}
	return modern{&socket{conn}}, nil
}

func (s *socket) send(_, _ string, request []byte) ([]byte, error) {
	if err := s.WriteMessage(websocket.TextMessage, request); err != nil {
		return nil, err
	}
	_, response, err := s.ReadMessage()
	return response, err
}

// pipes are the standard streams of a server.
type pipes struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// Stdio speaks to a server over its standard streams.
func Stdio(in io.WriteCloser, out io.Reader) Client { return modern{&pipes{in, bufio.NewReader(out)}} }

func (p *pipes) send(_, _ string, request []byte) ([]byte, error) {
	if _, err := p.in.Write(append(request, '\n')); err != nil {
		return nil, err
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal(line, &m); err != nil || m.ID != nil { // else it is a notification
			return line, err
		}
	}
}

func (p *pipes) Close() error { return p.in.Close() }
