package wstransport

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

var impl = &mcp.Implementation{Name: "test", Version: "1"}

// site is a Handler that serves connections over pipes, so that a test has a clock of its
// own: whoever waits for something that does not come meets the end of the connection. Its
// tool "wait" runs until release is closed or its call ends, and "echo" answers with its
// arguments.
type site struct {
	*testing.T
	*Handler
	base     context.Context // of the requests
	server   *mcp.Server
	began    chan string // the ids that calls of "wait" were given as an argument
	release  chan struct{}
	causes   chan error // the ends of its calls that were not released
	refusals chan string
	served   chan struct{} // one for each connection that has been served to its end
	serving  sync.WaitGroup
}

func newSite(t *testing.T, o HandlerOptions) *site {
	t.Helper()
	s := &site{T: t, base: context.Background(), server: mcp.NewServer(impl, nil), began: make(chan string, 1000), release: make(chan struct{}),
		causes: make(chan error, 1000), refusals: make(chan string, 1000), served: make(chan struct{}, 1000)}
	tool := func(name string, f func(context.Context, *mcp.CallToolRequest) string) {
		s.server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: f(ctx, req)}}}, nil
		})
	}
	tool("wait", func(ctx context.Context, req *mcp.CallToolRequest) string {
		s.began <- string(req.Params.Arguments)
		select {
		case <-s.release:
		case <-ctx.Done():
			s.causes <- context.Cause(ctx)
		}
		return "over"
	})
	tool("echo", func(ctx context.Context, req *mcp.CallToolRequest) string {
		if req.Extra != nil { // it came over a socket
			require.Empty(t, req.Extra.Header.Values("Idempotency-Key"), "the key of a handshake is that of no call")
			require.Empty(t, req.Extra.Header.Values("Traceparent"))
		}
		if user := auth.TokenInfoFromContext(ctx); user != nil { // each request has its own, and its caller's
			require.Equal(t, "Bearer "+user.UserID, req.Extra.Header.Get("Authorization"))
			require.Equal(t, user.UserID, req.Extra.TokenInfo.UserID)
			require.Nil(t, req.Extra.CloseSSEStream)
			req.Extra.CloseSSEStream = func(mcp.CloseSSEStreamArgs) {}
		}
		return string(req.Params.Arguments)
	})
	o.Refused = func(why string) { s.refusals <- why }
	var err error
	s.Handler, err = NewHandler(func(r *http.Request) *mcp.Server {
		if r.URL.Path == "/none" {
			return nil
		}
		return s.server
	}, &o)
	require.NoError(t, err)
	t.Cleanup(s.nothingIsLeft)
	return s
}

// nothingIsLeft shuts the site down and looks for what its connections were counted for.
// Goroutines that stay behind fail the test as well.
func (s *site) nothingIsLeft() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Shutdown(over)
	s.serving.Wait()
	s.open.Range(func(any, any) bool { s.Error("a connection is still known"); return true })
	fresh, err := NewHandler(s.getServer, &s.options)
	require.NoError(s, err)
	require.Equal(s, []*inflight.Counter{fresh.connections, fresh.load, fresh.opened}, []*inflight.Counter{s.connections, s.load, s.opened})
}

// serve serves the connection at this end of a pipe.
func (s *site) serve(near net.Conn) {
	in := bufio.NewReader(near)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	w := &response{ResponseRecorder: httptest.NewRecorder(), conn: near, in: in}
	front := http.Handler(s.Handler)
	if r.Header.Get("Authorization") != "" {
		front = auth.RequireBearerToken(func(_ context.Context, user string, _ *http.Request) (*auth.TokenInfo, error) {
			return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour)}, nil
		}, nil)(front)
	}
	front.ServeHTTP(w, r.WithContext(context.WithValue(s.base, http.LocalAddrContextKey, local)))
	if !w.taken { // as net/http, which reads what is left of the body first
		_, _ = io.Copy(io.Discard, r.Body)
		_ = w.Result().Write(near)
		_ = near.Close()
	}
	s.served <- struct{}{}
}

type response struct {
	*httptest.ResponseRecorder
	conn  net.Conn
	in    *bufio.Reader
	taken bool
}

func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.taken = true
	return w.conn, bufio.NewReadWriter(w.in, bufio.NewWriter(w.conn)), nil
}

func (w *response) SetReadDeadline(at time.Time) error { return w.conn.SetReadDeadline(at) }

// pipe returns the client's end of a new connection.
func (s *site) pipe(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.serving.Go(func() { s.serve(near) })
	return patient{far}, nil
}

// patient is a connection whose writes have no deadline: a pong's would outlive it.
type patient struct{ net.Conn }

func (patient) SetWriteDeadline(time.Time) error { return nil }

// peer is a client that speaks WebSocket and nothing above it.
type peer struct {
	*websocket.Conn
	t   *testing.T
	in  chan rpc // what it received
	err error    // why it receives no more; set before in is closed
}

type rpc struct {
	ID, Result json.RawMessage
	Error      *struct{ Code int }
}

// connect makes a connection from which nobody reads yet; nil and a status if it is refused.
func (s *site) connect(user string) (*peer, int) {
	header := http.Header{"Idempotency-Key": {"once"}, "Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
	if user != "" {
		header.Set("Authorization", "Bearer "+user)
	}
	dialer := websocket.Dialer{Subprotocols: []string{Subprotocol}, NetDialContext: s.pipe}
	ws, resp, err := dialer.Dial("ws://localhost/", header)
	if err != nil {
		<-s.served
		return nil, resp.StatusCode
	}
	s.Cleanup(func() { _ = ws.Close() })
	return &peer{Conn: ws, t: s.T, in: make(chan rpc, 1000)}, resp.StatusCode
}

func (s *site) dial(user string) *peer {
	p, status := s.connect(user)
	require.Equal(s, http.StatusSwitchingProtocols, status)
	go p.pump()
	return p
}

func (p *peer) pump() {
	defer close(p.in)
	for {
		_, text, err := p.ReadMessage()
		var m rpc
		if err = cmp.Or(err, json.Unmarshal(text, &m)); err != nil {
			p.err = err
			return
		}
		p.in <- m
	}
}

func (p *peer) next() rpc {
	p.t.Helper()
	m, ok := <-p.in
	if !ok {
		require.NoError(p.t, p.err)
	}
	return m
}

// code is how the connection ends: 1006 if no close frame comes.
func (p *peer) code() int {
	p.t.Helper()
	for m := range p.in {
		require.Empty(p.t, m, "a message that nobody expects")
	}
	var closed *websocket.CloseError
	require.ErrorAs(p.t, p.err, &closed)
	return closed.Code
}

func (p *peer) send(text string) {
	p.t.Helper()
	p.frames(frame(0x81, text))
}

func (p *peer) frames(frames ...string) {
	p.t.Helper()
	_, err := p.NetConn().Write([]byte(strings.Join(frames, "")))
	require.NoError(p.t, err)
}

// frame is one as a client sends it, with a mask of zeros.
func frame(first byte, payload string) string {
	head := []byte{first, 0x80 | byte(min(len(payload), 126))}
	switch n := len(payload); {
	case n > 0xffff:
		head[1]++
		head = binary.BigEndian.AppendUint64(head, uint64(n))
	case n > 125:
		head = binary.BigEndian.AppendUint16(head, uint16(n))
	}
	return string(head) + "\x00\x00\x00\x00" + payload
}

// call is a modern call of a tool.
func call(id, tool, arguments string) string {
	return request(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, tool, arguments))
}

// request is a modern request. Its members each have a comma after them.
func request(id, method, members string) string {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, members, meta)
}

// wait begins a call of "wait".
func (s *site) wait(p *peer, id string) {
	s.Helper()
	p.send(call(id, "wait", id))
	require.Equal(s, id, <-s.began)
}
