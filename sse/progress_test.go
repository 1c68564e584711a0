package sse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// The progress that a client hears of only ever increases, though the handler counts from
// the start in each round and a heartbeat shares its token.
func TestProgressOnlyEverIncreases(t *testing.T) {
	var server *mcp.Server
	var client *wire.Client
	beating := 0 // heartbeats that the user waits for
	opts := &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": func(q wire.Question) any {
		beating += 2
		for beats := 0; beats < beating; time.Sleep(time.Millisecond) {
			beats = 0
			for _, params := range client.Notifications("notifications/progress") {
				if bytes.Contains(params, []byte("Waiting")) {
					beats++
				}
			}
		}
		return yes(q)
	}}}
	inMemory := func(t *testing.T) *wire.Client { return connect(t, server, opts) }
	for name, dial := range map[string]func(t *testing.T) *wire.Client{
		"OrderProgress": func(t *testing.T) *wire.Client { sse.OrderProgress(server); return inMemory(t) },
		"boundary": func(t *testing.T) *wire.Client {
			require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
			return inMemory(t)
		},
		"mcphttp": func(t *testing.T) *wire.Client {
			h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			web := httptest.NewServer(h)
			t.Cleanup(web.Close)
			client, err := wire.DialHTTP(t.Context(), web.URL, nil, opts)
			require.NoError(t, err)
			t.Cleanup(func() { client.Close() })
			return client
		},
		"wstransport": func(t *testing.T) *wire.Client {
			h, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			web := httptest.NewServer(h)
			t.Cleanup(web.Close)
			transport, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), nil)
			require.NoError(t, err)
			client, err := wire.Dial(t.Context(), transport, opts)
			require.NoError(t, err)
			t.Cleanup(func() { client.Close() })
			return client
		},
	} {
		t.Run(name, func(t *testing.T) {
			server = rawServer(sse.BridgeTool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				rounds := len(req.Params.RequestState)
				for i := range rounds + 2 {
					_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "tok", Progress: float64(i), Total: 4})
				}
				if rounds == 2 {
					return say("done")
				}
				return need(req.Params.RequestState+"+", mcp.InputRequestMap{"q": trip.Form("q?", "q")})
			}, &sse.BridgeOptions{ProgressInterval: 10 * time.Millisecond}))
			beating, client = 0, dial(t)
			_, err := client.Exchange(t.Context(), wire.Request{Params: map[string]any{"name": "tool", "_meta": map[string]any{"progressToken": "tok"}}})
			require.NoError(t, err)
			whole, beats := 0, 0
			last := -1.0
			for _, params := range client.Notifications("notifications/progress") {
				var p mcp.ProgressNotificationParams
				require.NoError(t, json.Unmarshal(params, &p))
				require.Greater(t, p.Progress, last)
				if last = p.Progress; p.Total > 0 {
					whole++
				} else {
					beats++
				}
			}
			require.Equal(t, 4, whole, "each step once")
			require.GreaterOrEqual(t, beats, beating)
			require.Equal(t, 4, beating, "two questions")
			require.Equal(t, 3.0, last)
		})
	}
}
