package wstransport_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

// A modern call needs no handshake, so one message starts a handler.
const callWait = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// waiting returns a server whose tool "wait" reports its start, waits for the
// end of its context and reports the cause.
func waiting() (server *mcp.Server, started chan struct{}, cause chan error) {
	server = mcp.NewServer(impl, nil)
	started, cause = make(chan struct{}, 1), make(chan error, 1)
	tool(server, "wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- struct{}{}
		cause <- causeOf(ctx)
		return says("too late"), nil
	})
	return server, started, cause
}

func sendFrames(frames ...[]byte) func(*testing.T, *websocket.Conn) {
	return func(t *testing.T, ws *websocket.Conn) {
		for _, f := range frames {
			_, err := ws.NetConn().Write(f)
			require.NoError(t, err)
		}
	}
}

func sendMessage(kind int, data string) func(*testing.T, *websocket.Conn) {
	return func(t *testing.T, ws *websocket.Conn) {
		_ = ws.WriteMessage(kind, []byte(data)) // the server may hang up before the end of it
	}
}

// The peer's fault ends the connection with a code that names it, and cancels
// the handler that is running.
func TestCloseCodes(t *testing.T) {
	const limit = 2000
	cases := []struct {
		explanation string
		send        func(*testing.T, *websocket.Conn)
		code        int
		slow        bool // to send
	}{
		{"a binary message", sendMessage(websocket.BinaryMessage, `{"jsonrpc":"2.0","id":2,"method":"ping"}`), 1003, false},
		{"text that is not JSON", sendMessage(websocket.TextMessage, `hello`), 1007, false},
		{"an empty message", sendMessage(websocket.TextMessage, ``), 1007, false},
		{"JSON that is not JSON-RPC", sendMessage(websocket.TextMessage, `{"id":2,"method":"ping"}`), 1007, false},
		{"two messages in one", sendMessage(websocket.TextMessage, callWait+callWait), 1007, false},
		{"a batch", sendMessage(websocket.TextMessage, `[`+callWait+`]`), 1007, false},
		{"text that is not UTF-8", sendMessage(websocket.TextMessage, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\xff\"}"), 1007, false},
		{"a message one byte over the limit", sendMessage(websocket.TextMessage, strings.Repeat(" ", limit+1)), 1009, false},
		{"a message far over the limit, which overtakes the answer", sendMessage(websocket.TextMessage, strings.Repeat(" ", 4<<20)), 1009, true},
		{"a message whose pieces are over the limit", sendFrames(maskedFrame(1, false, limit), maskedFrame(0, true, 1)), 1009, false},
		{"a message that announces 2^63-1 bytes", sendFrames([]byte{0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}), 1009, false},
		{"a length with the sign bit", sendFrames([]byte{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}), 1009, false},
		{"a reserved bit", sendFrames([]byte{0xc1, 0x80, 0, 0, 0, 0}), 1002, false},
		{"an unknown opcode", sendFrames([]byte{0x83, 0x80, 0, 0, 0, 0}), 1002, false},
		{"a client that does not mask", sendFrames([]byte{0x81, 0x02, '{', '}'}), 1002, false},
		{"a continuation of nothing", sendFrames(maskedFrame(0, true, 1)), 1002, false},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			t.Parallel()
			server, started, cause := waiting()
			limits := wstransport.Limits{MaxMessageBytes: limit}
			if c.slow {
				limits = limits.WithCloseGrace(500 * time.Millisecond)
			}
			e := serve(t, server, &wstransport.HandlerOptions{Limits: limits})
			ws := dialRaw(t, e.url)
			require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(callWait)))
			receive(t, started)
			c.send(t, ws)
			require.Equal(t, c.code, closeCode(t, ws))
			requireClose(t, receive(t, cause), c.code, false)
			e.sessionEnds(t)
		})
	}
}

func maskedFrame(opcode byte, final bool, length int) []byte {
	if final {
		opcode |= 0x80
	}
	header := []byte{opcode, 0x80 | 126, byte(length >> 8), byte(length), 0, 0, 0, 0}
	return append(header, bytes.Repeat([]byte{' '}, length)...)
}

// The handlers learn the code and the reason of the peer's own close frame.
func TestPeerCloses(t *testing.T) {
	cases := []struct {
		explanation string
		payload     []byte
		answer      int
		check       func(*testing.T, error)
	}{
		{"normally", websocket.FormatCloseMessage(1000, "bye"), 1000, func(t *testing.T, err error) { require.EqualError(t, err, "EOF") }},
		{"without a code", nil, 1005, func(t *testing.T, err error) { require.EqualError(t, err, "EOF") }},
		{"a page that is left", websocket.FormatCloseMessage(1001, ""), 1001, func(t *testing.T, err error) { requireClose(t, err, 1001, true) }},
		{"with a code of its own", websocket.FormatCloseMessage(4000, "moved"), 4000, func(t *testing.T, err error) {
			requireClose(t, err, 4000, true)
			require.ErrorContains(t, err, "moved")
		}},
		{"with a code that must not be sent", []byte{0x03, 0xed}, 1002, func(t *testing.T, err error) { requireClose(t, err, 1002, false) }},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			t.Parallel()
			server, started, cause := waiting()
			e := serve(t, server, nil)
			ws := dialRaw(t, e.url)
			require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(callWait)))
			receive(t, started)
			require.NoError(t, ws.WriteControl(websocket.CloseMessage, c.payload, time.Now().Add(patience)))
			require.Equal(t, c.answer, closeCode(t, ws))
			c.check(t, receive(t, cause))
			e.sessionEnds(t)
		})
	}
}

// A peer that is connected, but neither reads nor answers pings.
func TestHalfOpenPeer(t *testing.T) {
	server, started, cause := waiting()
	e := serve(t, server, &wstransport.HandlerOptions{Limits: wstransport.Limits{PingInterval: 20 * time.Millisecond, PongWait: 100 * time.Millisecond}})
	ws := dialRaw(t, e.url)
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(callWait)))
	receive(t, started)
	requireClose(t, receive(t, cause), 1011, false)
	e.sessionEnds(t)
	ws.SetPingHandler(func(string) error { return nil }) // too late to answer
	require.Equal(t, 1011, closeCode(t, ws), "the frame waits for a peer that comes back")
}
