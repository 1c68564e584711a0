package wstransport_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/wstransport"
)

// A modern call needs no handshake, so one message starts a handler.
var callWait = callOf("1", "")

// busy is a raw connection over which a call is running, whose handler reports the cause of
// its end.
func busy(t *testing.T, opts *wstransport.HandlerOptions, wrap ...func(http.Handler) http.Handler) (e *endpoint, ws *websocket.Conn, cause chan error) {
	t.Helper()
	s := newPark()
	e = serve(t, s.server, opts, wrap...)
	ws = dialRaw(t, e.url)
	write(t, ws, callWait)
	receive(t, s.began)
	return e, ws, s.cause
}

func sendFrames(frames ...[]byte) func(*testing.T, *websocket.Conn) {
	return func(t *testing.T, ws *websocket.Conn) {
		for _, f := range frames {
			must(ws.NetConn().Write(f))(t)
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
			limits := wstransport.Limits{MaxMessageBytes: limit}
			if c.slow {
				limits = limits.WithCloseGrace(500 * time.Millisecond)
			}
			e, ws, cause := busy(t, &wstransport.HandlerOptions{Limits: limits})
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
		{"with one byte", []byte{0x03}, 1002, func(t *testing.T, err error) { requireClose(t, err, 1002, false) }},
		{"with a code that must not be sent", []byte{0x03, 0xed}, 1002, func(t *testing.T, err error) { requireClose(t, err, 1002, false) }},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			t.Parallel()
			e, ws, cause := busy(t, nil)
			require.NoError(t, ws.WriteControl(websocket.CloseMessage, c.payload, time.Now().Add(patience)))
			require.Equal(t, c.answer, closeCode(t, ws))
			c.check(t, receive(t, cause))
			e.sessionEnds(t)
		})
	}
}

// A peer that is connected, but neither reads nor answers pings.
func TestHalfOpenPeer(t *testing.T) {
	e, ws, cause := busy(t, &wstransport.HandlerOptions{Limits: wstransport.Limits{PingInterval: 20 * time.Millisecond, PongWait: 100 * time.Millisecond}})
	requireClose(t, receive(t, cause), 1011, false)
	e.sessionEnds(t)
	ws.SetPingHandler(func(string) error { return nil }) // too late to answer
	require.Equal(t, 1011, closeCode(t, ws), "the frame waits for a peer that comes back")
}

// wss, against a server that offers HTTP/2 as well.
func TestTLS(t *testing.T) {
	server, _ := greeter()
	handler := must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t)
	web := httptest.NewUnstartedServer(handler)
	web.EnableHTTP2 = true
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	url := "wss" + strings.TrimPrefix(web.URL, "https")

	_, err := wstransport.Dial(t.Context(), url, nil)
	var untrusted *tls.CertificateVerificationError
	require.ErrorAs(t, err, &untrusted)

	pool := x509.NewCertPool()
	pool.AddCert(web.Certificate())
	transport := must(wstransport.Dial(t.Context(), url, &wstransport.DialOptions{TLSConfig: &tls.Config{RootCAs: pool}}))(t)
	var asked atomic.Int64
	session := must(mcp.NewClient(impl, answering("Ada", &asked)).Connect(t.Context(), transport, nil))(t)
	res := must(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"}))(t)
	require.Equal(t, "Hello, Ada!", textOf(t, res))
	require.NoError(t, session.Close())
	require.NoError(t, handler.Shutdown(t.Context()))
}

// acceptRaw listens for connections and hands them over as they are.
func acceptRaw(t *testing.T, subprotocols ...string) (<-chan *websocket.Conn, string) {
	t.Helper()
	if subprotocols == nil {
		subprotocols = []string{wstransport.Subprotocol}
	}
	upgrader := websocket.Upgrader{Subprotocols: subprotocols}
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err == nil {
			accepted <- ws
			t.Cleanup(func() { _ = ws.Close() })
		}
	}))
	t.Cleanup(server.Close)
	return accepted, "ws" + strings.TrimPrefix(server.URL, "http")
}

func TestDialRequiresTheSubprotocol(t *testing.T) {
	accepted, url := acceptRaw(t, "something else")
	transport, err := wstransport.Dial(t.Context(), url, nil)
	require.Nil(t, transport)
	requireClose(t, err, 1002, false)
	require.ErrorContains(t, err, "subprotocol")
	require.Equal(t, 1002, closeCode(t, receive(t, accepted)))
}

func TestDialRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Www-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	defer server.Close()
	_, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	var refused *wstransport.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	require.Equal(t, "Bearer", refused.Header.Get("Www-Authenticate"))
	require.Equal(t, "who are you?", refused.Message)
	require.ErrorContains(t, err, "401")
}

func TestDialErrors(t *testing.T) {
	cases := []struct {
		explanation, url string
		opts             *wstransport.DialOptions
	}{
		{"an address of another scheme", "http://127.0.0.1:1/", nil},
		{"nobody listens", "ws://127.0.0.1:1/", nil},
		{"a negative limit", "ws://127.0.0.1:1/", &wstransport.DialOptions{Limits: wstransport.Limits{MaxMessageBytes: -1}}},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			_, err := wstransport.Dial(t.Context(), c.url, c.opts)
			require.ErrorContains(t, err, "wstransport: ")
		})
	}
}
