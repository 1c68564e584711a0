package sse_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// withToken calls the tool with a progress token.
var withToken = wire.Request{Params: json.RawMessage(`{"name":"tool","_meta":{"progressToken":"tok"}}`)}

// heard is the progress that a client was notified of in a call. It only ever increases.
func heard(t *testing.T, client *wire.Client, call wire.Request) []json.RawMessage {
	t.Helper()
	_, err := client.Exchange(t.Context(), call)
	require.NoError(t, err)
	all, last := client.Notifications("notifications/progress"), -1.0
	for _, params := range all {
		var p mcp.ProgressNotificationParams
		require.NoError(t, json.Unmarshal(params, &p))
		require.Equal(t, "tok", p.ProgressToken)
		require.Greater(t, p.Progress, last)
		last = p.Progress
	}
	return all
}

func TestProgressWhileAPersonThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := connect(t, rawServer(sse.BridgeTool(func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.RequestState == "++" {
				return say("done")
			}
			return need(req.Params.RequestState+"+", asking("", nil).questions)
		}, nil)), &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"q": func(q wire.Question) any {
			time.Sleep(50 * time.Second)
			return yes(q)
		}}})
		require.Empty(t, heard(t, client, wire.Request{Name: "tool"}), "no token, no progress")
		require.Len(t, heard(t, client, withToken), 6, "every 15 s of 50 s in two rounds")
	})
}

// Every front orders the progress of a handler that counts from the start in each round.
func TestProgressOnlyEverIncreases(t *testing.T) {
	listen := func(h http.Handler, err error) string {
		require.NoError(t, err)
		web := httptest.NewServer(h)
		t.Cleanup(web.Close)
		return web.URL
	}
	counting := sse.BridgeTool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range len(req.Params.RequestState) + 2 {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "tok", Progress: float64(i)})
		}
		if req.Params.RequestState == "++" {
			return say("done")
		}
		return need(req.Params.RequestState+"+", asking("", nil).questions)
	}, nil)
	get, opts := func(*http.Request) *mcp.Server { return rawServer(counting) }, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": yes}}
	server := get(nil)
	sse.OrderProgress(server)
	overHTTP, err := wire.DialHTTP(t.Context(), listen(mcphttp.NewHandler(get, nil)), nil, opts)
	require.NoError(t, err)
	socket, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(listen(wstransport.NewHandler(get, nil)), "http"), nil)
	require.NoError(t, err)
	overWebSocket, err := wire.Dial(t.Context(), socket, opts)
	require.NoError(t, err)
	for _, client := range []*wire.Client{connect(t, server, opts), overHTTP, overWebSocket} {
		require.Len(t, heard(t, client, withToken), 4, "each step once")
		require.NoError(t, client.Close())
	}
}
