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
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// The progress that a client hears of only ever increases, though the handler counts from
// the start in each round and a heartbeat shares its token.
func TestProgressOnlyEverIncreases(t *testing.T) {
	var client *wire.Client
	heartbeats := func() (n int) {
		for _, params := range client.Notifications("notifications/progress") {
			n += bytes.Count(params, []byte("Waiting"))
		}
		return n
	}
	opts := &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": func(q wire.Question) any {
		for before := heartbeats(); heartbeats() < before+2; time.Sleep(time.Millisecond) {
		}
		return yes(q)
	}}}
	inMemory := func(server *mcp.Server) (*wire.Client, error) { return wire.Connect(t.Context(), server, opts) }
	for name, dial := range map[string]func(server *mcp.Server) (*wire.Client, error){
		"OrderProgress": func(server *mcp.Server) (*wire.Client, error) { sse.OrderProgress(server); return inMemory(server) },
		"boundary": func(server *mcp.Server) (*wire.Client, error) {
			require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
			return inMemory(server)
		},
		"mcphttp": func(server *mcp.Server) (*wire.Client, error) {
			h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			return wire.DialHTTP(t.Context(), listen(t, h), nil, opts)
		},
		"wstransport": func(server *mcp.Server) (*wire.Client, error) {
			h, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			transport, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(listen(t, h), "http"), nil)
			require.NoError(t, err)
			return wire.Dial(t.Context(), transport, opts)
		},
	} {
		var err error
		client, err = dial(rawServer(sse.BridgeTool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			rounds := len(req.Params.RequestState)
			for i := range rounds + 2 {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "tok", Progress: float64(i), Total: 4})
			}
			if rounds == 2 {
				return say("done")
			}
			return need(req.Params.RequestState+"+", mcp.InputRequestMap{"q": wire.TextForm("q?", "q")})
		}, &sse.BridgeOptions{ProgressInterval: 10 * time.Millisecond})))
		require.NoError(t, err, name)
		_, err = client.Exchange(t.Context(), wire.Request{Params: map[string]any{"name": "tool", "_meta": map[string]any{"progressToken": "tok"}}})
		require.NoError(t, err, name)
		whole, last := 0, -1.0
		for _, params := range client.Notifications("notifications/progress") {
			var p mcp.ProgressNotificationParams
			require.NoError(t, json.Unmarshal(params, &p))
			require.Greater(t, p.Progress, last, name)
			if last = p.Progress; p.Total > 0 {
				whole++
			}
		}
		require.Equal(t, 4, whole, "%s: each step once", name)
		require.Equal(t, 3.0, last, name)
		require.NoError(t, client.Close())
	}
}

func listen(t *testing.T, h http.Handler) (url string) {
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.URL
}
