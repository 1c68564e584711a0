package wstransport_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/wstransport"
)

// Connections that are opened and dropped, in every way there is, leave
// nothing behind.
func TestOpenedAndDropped(t *testing.T) {
	server, _ := greeter()
	e := serve(t, server, nil)
	drops := []func(ws *websocket.Conn){
		func(ws *websocket.Conn) { _ = ws.Close() },
		func(ws *websocket.Conn) {
			_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(patience))
			_ = ws.Close()
		},
		func(ws *websocket.Conn) {
			_ = ws.WriteMessage(websocket.TextMessage, []byte(callWait))
			_ = ws.Close()
		},
		func(ws *websocket.Conn) {
			_, _ = ws.NetConn().Write([]byte{0x81, 0xfe, 0x10}) // half a header
			_ = ws.Close()
		},
	}
	const connections = 200
	requireNoLeak(t, func() {
		open := make(chan *websocket.Conn, connections)
		var dialing sync.WaitGroup
		for range 8 {
			dialing.Go(func() {
				for range connections / 8 {
					dialer := websocket.Dialer{Subprotocols: []string{"mcp"}}
					if ws, _, err := dialer.Dial(e.url, nil); err == nil {
						open <- ws
					}
				}
			})
		}
		dialing.Wait()
		require.Len(t, open, connections)
		for i := range connections {
			drops[i%len(drops)](<-open)
		}
		for range connections {
			e.sessionEnds(t)
		}
	})
	session := connect(t, e.url, modern, nil)
	must(session.ListTools(t.Context(), nil))(t)
}

// A server that closes one session says 1000, and the client's session ends
// without an error.
func TestServerClosesTheSession(t *testing.T) {
	server, _ := greeter()
	e := serve(t, server, nil)
	session := connect(t, e.url, legacy, nil)
	ws := dialRaw(t, e.url)
	require.Eventually(t, func() bool {
		n := 0
		for range server.Sessions() {
			n++
		}
		return n == 2
	}, patience, time.Millisecond)
	for s := range server.Sessions() {
		go s.Close()
	}
	require.NoError(t, session.Wait())
	require.Equal(t, 1000, closeCode(t, ws))
	require.ErrorIs(t, session.Ping(t.Context(), nil), mcp.ErrConnectionClosed)
}

// Shutdown lets a running call answer, refuses new connections, and says 1001.
func TestShutdown(t *testing.T) {
	s := newPark()
	e := serve(t, s.server, nil)
	idle := dialRaw(t, e.url)
	session := connect(t, e.url, modern, nil)
	results := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, _ := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait"})
		results <- res
	}()
	receive(t, s.began)

	down := make(chan error, 1)
	go func() { down <- e.handler.Shutdown(t.Context()) }()
	require.Equal(t, 1001, closeCode(t, idle))
	status, _, _ := handshake(t, e.url, func(*http.Request) {})
	require.Equal(t, http.StatusServiceUnavailable, status)
	_, err := session.ListTools(t.Context(), nil)
	var late *jsonrpc.Error
	require.ErrorAs(t, err, &late, "no new calls")
	require.EqualValues(t, -31001, late.Code, "nothing was run")
	require.Contains(t, string(late.Data), `"retryable":true`)
	require.Empty(t, down, "a call is still running")
	require.EqualValues(t, 1, s.running.Load())
	close(s.release)
	require.Equal(t, "over", textOf(t, receive(t, results)))
	requireClose(t, session.Wait(), 1001, true)
	require.NoError(t, receive(t, down))
	require.NoError(t, e.handler.Shutdown(t.Context()), "again is harmless")
}

// The end of the base context of the HTTP server ends its connections.
func TestRequestContextEnds(t *testing.T) {
	base, cancel := context.WithCancel(t.Context())
	_, ws, cause := busy(t, nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.WithContext(base)) })
	})
	cancel()
	requireClose(t, receive(t, cause), 1001, false)
	require.Equal(t, 1001, closeCode(t, ws))
}

// connection returns the client's side alone, and the peer.
func connection(t *testing.T, limits wstransport.Limits) (mcp.Connection, *websocket.Conn) {
	t.Helper()
	accepted, url := acceptRaw(t)
	transport := must(wstransport.Dial(t.Context(), url, &wstransport.DialOptions{Limits: limits}))(t)
	c := must(transport.Connect(t.Context()))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c, receive(t, accepted)
}

func TestReadIsCancelled(t *testing.T) {
	c, peer := connection(t, wstransport.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() {
		_, err := c.Read(ctx)
		errs <- err
	}()
	select {
	case err := <-errs:
		require.NoError(t, err, "Read must wait")
	case <-time.After(50 * time.Millisecond):
	}
	begun := time.Now()
	cancel()
	require.ErrorIs(t, receive(t, errs), context.Canceled)
	require.Less(t, time.Since(begun), within)
	require.Equal(t, 1000, closeCode(t, peer))

	_, err := c.Read(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// Close unblocks a Read even where the peer does not answer.
func TestCloseUnblocksRead(t *testing.T) {
	c, _ := connection(t, wstransport.Limits{})
	errs := make(chan error, 1)
	go func() {
		_, err := c.Read(context.Background())
		errs <- err
	}()
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.EqualError(t, receive(t, errs), "EOF")
	require.ErrorIs(t, c.Write(t.Context(), &jsonrpc.Request{Method: "m"}), mcp.ErrConnectionClosed)
}

// A writer whose context ends goes; the message that is on its way is not torn,
// and the connection lives.
func TestWriteIsCancelled(t *testing.T) {
	c, peer := connection(t, wstransport.Limits{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Write(ended, &jsonrpc.Request{Method: "never"}), context.Canceled)

	params := append(append([]byte{'"'}, make([]byte, 8<<20)...), '"')
	for i := 1; i < len(params)-1; i++ {
		params[i] = 'x'
	}
	for _, method := range []string{"half sent", "never, waiting for its turn"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		begun := time.Now()
		require.ErrorIs(t, c.Write(ctx, &jsonrpc.Request{Method: method, Params: params}), context.DeadlineExceeded)
		require.Less(t, time.Since(begun), within)
		cancel()
	}
	var got []string
	done := make(chan error, 1)
	go func() { done <- c.Write(context.Background(), &jsonrpc.Request{Method: "last"}) }()
	for len(got) < 2 {
		_, data, err := peer.ReadMessage()
		require.NoError(t, err)
		msg := must(jsonrpc.DecodeMessage(data))(t)
		got = append(got, msg.(*jsonrpc.Request).Method)
	}
	require.NoError(t, receive(t, done))
	require.Equal(t, []string{"half sent", "last"}, got)
}

// Everybody who waits to write to a peer that does not read is let go when the
// first gives up.
func TestWritersAreLetGo(t *testing.T) {
	c, _ := connection(t, wstransport.Limits{WriteTimeout: 200 * time.Millisecond, MaxUnreadBytes: 1 << 40})
	params := []byte(`"` + string(make([]byte, 8<<20)) + `"`)
	const writers = 100 // more than there are places in the line
	errs := make(chan error, writers)
	begun := time.Now()
	for range writers {
		go func() {
			errs <- c.Write(context.Background(), &jsonrpc.Request{Method: "m", Params: params})
		}()
	}
	timeouts, closed := 0, 0
	for range writers {
		switch err := receive(t, errs); {
		case errors.Is(err, mcp.ErrConnectionClosed):
			closed++
		default:
			require.ErrorContains(t, err, "did not read for 200ms")
			timeouts++
		}
	}
	require.Equal(t, 1, timeouts)
	require.Equal(t, writers-1, closed)
	require.Less(t, time.Since(begun), 10*time.Second, "nobody waits a timeout of their own")
}

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

// Results that exist when the time of a shutdown is over go out, also those that wait behind
// another one to be written.
func TestAResultThatExistsOutlivesAShutdown(t *testing.T) {
	const big = 24 << 20 // more than the operating system takes of it
	for _, results := range []int{1, 2, 5} {
		server := mcp.NewServer(impl, nil)
		var calls atomic.Int64
		tool(server, "wait", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if calls.Add(1) == 1 {
				return says(strings.Repeat("x", big)), nil
			}
			return says("done"), nil
		})
		e := serve(t, server, &wstransport.HandlerOptions{Limits: wstransport.Limits{}.WithCloseGrace(patience)})
		ws := dialRaw(t, e.url)
		waiting := int64(big)
		for id := range results {
			callTheTool(t, ws, strconv.Itoa(id+1))
			require.Eventually(t, func() bool { return e.handler.Unread() > waiting }, patience, time.Millisecond)
			waiting = e.handler.Unread()
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		shut := make(chan error, 1)
		go func() { shut <- e.handler.Shutdown(over) }()
		var ids []string
		for range results {
			m := readRPC(t, ws)
			require.Nil(t, m.Error)
			ids = append(ids, string(m.ID))
		}
		require.Len(t, ids, results)
		require.Equal(t, 1001, closeCode(t, ws))
		require.NoError(t, ws.Close())
		require.ErrorIs(t, receive(t, shut), context.Canceled)
	}
}

func TestShutdownCompletesSubscriptions(t *testing.T) {
	e := serve(t, newPark().server, nil)
	ws := dialRaw(t, e.url)
	require.Nil(t, exchange(t, ws, listen("9", `{"toolsListChanged":true}`)).ID, "acknowledged")
	shut := make(chan error, 1)
	go func() { shut <- e.handler.Shutdown(t.Context()) }()
	end := readRPC(t, ws)
	require.Equal(t, "9", string(end.ID))
	require.JSONEq(t, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":9}}`, string(end.Result))
	require.Equal(t, 1001, closeCode(t, ws))
	require.NoError(t, receive(t, shut))
}
