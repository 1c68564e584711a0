package mrtr_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/wstransport"
)

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
	for name, style := range map[string]func(mrtr.LinearFunc[tripIn, tripOut]) mrtr.Style[tripIn, tripOut]{
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
