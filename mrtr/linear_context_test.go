package mrtr_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

type roundKey struct{}

// A held handler's context goes with the round that runs: its values, and its
// end. Of the round before there is nothing left, its deadline least of all.
func TestLinearContextGoesWithTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type inner struct{}
		var handlerCtx context.Context
		tool := serveTrip(t, mrtr.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
			handlerCtx = context.WithValue(s.ctx, inner{}, "the handler's own")
			values := make([]any, 0, 3)
			for _, key := range []string{"first", "second", "third"} {
				values = append(values, s.ctx.Value(roundKey{}))
				_, deadline := s.ctx.Deadline()
				require.False(t, deadline)
				require.NoError(t, s.ctx.Err())
				ask(s, text(key))
			}
			require.Equal(t, []any{1, 2, 3}, values)
			require.Equal(t, 4, s.ctx.Value(roundKey{}))
			return tripOut{Plan: handlerCtx.Value(inner{}).(string)}, nil
		})))
		var reply tripReply
		for n := 1; n <= 4; n++ {
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), roundKey{}, n), time.Second)
			reply = tool.round(ctx, "", reply.state, accepting(reply, "x"))
			require.NoError(t, reply.err)
			cancel()
			time.Sleep(time.Minute) // far beyond the deadline of the round
			if n < 4 {
				require.NoError(t, handlerCtx.Err(), "the context outlives round %d", n)
			}
		}
		require.Equal(t, "the handler's own", reply.plan)
		synctest.Wait()
		require.ErrorIs(t, handlerCtx.Err(), context.Canceled, "the context ends with the handler")
	})
}

func TestLinearContextIsCancelled(t *testing.T) {
	tests := map[string]struct {
		explanation string
		cancel      func(t *testing.T, rt *mrtr.Runtime, tool *tripTool, asked tripReply)
		cause       error
	}{
		"by the request of the current round": {
			explanation: "the user of a later round gave up",
			cancel: func(t *testing.T, _ *mrtr.Runtime, tool *tripTool, asked tripReply) {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					time.Sleep(time.Second)
					cancel()
				}()
				require.ErrorIs(t, tool.round(ctx, "", asked.state, accepting(asked, "x")).err, context.Canceled)
			},
			cause: context.Canceled,
		},
		"by eviction": {
			explanation: "nobody answered for as long as a frame is kept",
			cancel: func(*testing.T, *mrtr.Runtime, *tripTool, tripReply) {
				time.Sleep(time.Hour)
			},
			cause: context.DeadlineExceeded,
		},
		"by Close": {
			explanation: "while it is parked",
			cancel: func(t *testing.T, rt *mrtr.Runtime, _ *tripTool, _ tripReply) {
				require.NoError(t, rt.Close())
			},
			cause: &mrtr.Error{Reason: mrtr.ShuttingDown},
		},
		"by Close, in a round": {
			explanation: "while it runs: the round that waits for it ends in an error, never in an empty result",
			cancel: func(t *testing.T, rt *mrtr.Runtime, tool *tripTool, asked tripReply) {
				go func() {
					time.Sleep(time.Second)
					_ = rt.Close()
				}()
				reply := tool.round(t.Context(), "", asked.state, accepting(asked, "x"))
				require.Equal(t, &mrtr.Error{Reason: mrtr.ShuttingDown}, reply.err)
			},
			cause: &mrtr.Error{Reason: mrtr.ShuttingDown},
		},
		"by a decline": {
			explanation: "the call has ended",
			cancel: func(t *testing.T, _ *mrtr.Runtime, tool *tripTool, asked tripReply) {
				require.Error(t, tool.round(t.Context(), "", asked.state, declining(asked)).err)
			},
			cause: context.Canceled,
		},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cause error
				rt := newTripRuntime(t, nil)
				tool := newTrip(rt, mrtr.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
					defer func() { cause = context.Cause(s.ctx) }()
					ask(s, text("first"))
					<-s.ctx.Done()
					return tripOut{}, s.ctx.Err()
				})), "")
				asked := tool.begin()
				require.NoError(t, asked.err)
				test.cancel(t, rt, tool, asked)
				synctest.Wait()
				require.Equal(t, test.cause, cause, test.explanation)
			})
		})
	}
}

// Over HTTP a notification finds its stream through the context's values. The
// stream of round one is closed when round two runs.
func TestLinearProgressReachesTheCurrentRound(t *testing.T) {
	rt := newTripRuntime(t, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "trips", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "trip"}, mrtr.Tool(rt, mrtr.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
		ask(s, text("first"))
		token := s.Call.Request().(*mcp.CallToolRequest).Params.GetProgressToken()
		err := s.Call.Session().NotifyProgress(s.ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half way"})
		return tripOut{Plan: "done"}, err
	})), nil))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()

	progress := make(chan string, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "traveller", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return accept("first", "x"), nil },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- r.Params.Message
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
	require.NoError(t, err)
	defer session.Close()
	params := &mcp.CallToolParams{Name: "trip", Arguments: tripIn{}}
	params.SetProgressToken("token")
	res, err := session.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.False(t, res.IsError, "%v", res.Content)
	select {
	case message := <-progress:
		require.Equal(t, "half way", message)
	case <-time.After(30 * time.Second):
		t.Fatal("the progress of round two went to nobody")
	}
}

// The context of a linear handler tells why its call was cut off, as that of any
// other handler does: with the close code, and whether client or server went.
func TestALinearHandlerLearnsWhyItsCallEnds(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	const modern = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"trip","arguments":{},` + meta + `}}`
	const legacy = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"trip","arguments":{}}}`
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{"elicitation":{}}}}`
	expired, cancel := context.WithCancel(t.Context())
	cancel()

	overHTTP := func(body string, end func(h *mcphttp.Handler, hangUp func())) func(t *testing.T, server *mcp.Server, began chan struct{}) {
		return func(t *testing.T, server *mcp.Server, began chan struct{}) {
			h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			web := httptest.NewServer(h)
			t.Cleanup(web.Close)
			post := func(ctx context.Context, body, session string) *http.Response {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL, strings.NewReader(body))
				require.NoError(t, err)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				if body == modern {
					r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
					r.Header.Set("Mcp-Method", "tools/call")
					r.Header.Set("Mcp-Name", "trip")
				}
				if session != "" {
					r.Header.Set("Mcp-Session-Id", session)
				}
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					return nil
				}
				res.Body.Close()
				return res
			}
			session := ""
			if body == legacy {
				session = post(t.Context(), initialize, "").Header.Get("Mcp-Session-Id")
			}
			ctx, hangUp := context.WithCancel(t.Context())
			t.Cleanup(hangUp)
			go post(ctx, body, session)
			<-began
			end(h, hangUp)
		}
	}
	overWebSocket := func(end func(h *wstransport.Handler, ws *websocket.Conn)) func(t *testing.T, server *mcp.Server, began chan struct{}) {
		return func(t *testing.T, server *mcp.Server, began chan struct{}) {
			h, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			web := httptest.NewServer(h)
			t.Cleanup(web.Close)
			dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
			ws, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), nil)
			require.NoError(t, err)
			t.Cleanup(func() { ws.Close() })
			go func() { // the server waits for an answer to its close frame, which reading gives
				for {
					if _, _, err := ws.ReadMessage(); err != nil {
						return
					}
				}
			}()
			require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(modern)))
			<-began
			end(h, ws)
		}
	}
	hangUp := func(_ *mcphttp.Handler, hangUp func()) { hangUp() }
	shutDown := func(h *mcphttp.Handler, _ func()) { _ = h.Shutdown(expired) }
	cases := []struct {
		explanation string
		run         func(t *testing.T, server *mcp.Server, began chan struct{})
		cause       error
	}{
		{"a modern client hangs up", overHTTP(modern, hangUp), mcphttp.ErrHungUp},
		{"a legacy client hangs up", overHTTP(legacy, hangUp), mcphttp.ErrHungUp},
		{"a shutdown without time, modern", overHTTP(modern, shutDown), mcphttp.ErrShuttingDown},
		{"a shutdown without time, legacy", overHTTP(legacy, shutDown), mcphttp.ErrShuttingDown},
		{"a connection is closed", overWebSocket(func(_ *wstransport.Handler, ws *websocket.Conn) {
			_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4001, "bye"), time.Now().Add(time.Second))
		}), &wstransport.CloseError{Code: 4001, Reason: "bye", Remote: true}},
		{"a message too large", overWebSocket(func(_ *wstransport.Handler, ws *websocket.Conn) {
			_ = ws.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte(" "), 5<<20)) // the server closes before it has read all
		}), &wstransport.CloseError{Code: 1009, Reason: "a message is over 4194304 bytes"}},
		{"a WebSocket server goes", overWebSocket(func(h *wstransport.Handler, _ *websocket.Conn) { _ = h.Shutdown(expired) }),
			&wstransport.CloseError{Code: 1001, Reason: "the server is shutting down"}},
	}
	require.NotEmpty(t, cases)
	for name, style := range map[string]linearStyle{
		"coroutine": mrtr.Coroutine[tripIn, tripOut], "journal": mrtr.Journal[tripIn, tripOut], "resumable": mrtr.Resumable[tripIn, tripOut],
	} {
		for _, c := range cases {
			t.Run(name+"/"+c.explanation, func(t *testing.T) {
				began, cause := make(chan struct{}), make(chan error, 1)
				server := mcp.NewServer(&mcp.Implementation{Name: "trips", Version: "1"}, nil)
				mcp.AddTool(server, &mcp.Tool{Name: "trip", InputSchema: map[string]any{"type": "object"}}, mrtr.Tool(newTripRuntime(t, nil), style(func(ctx context.Context, _ *mrtr.Call, _ tripIn) (tripOut, error) {
					close(began)
					select {
					case <-ctx.Done():
						cause <- context.Cause(ctx)
					case <-time.After(30 * time.Second): // the test has failed
						cause <- nil
					}
					return tripOut{}, ctx.Err()
				}), nil))
				c.run(t, server, began)
				require.Equal(t, c.cause, <-cause)
			})
		}
	}
}
