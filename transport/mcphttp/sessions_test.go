package mcphttp_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// go-sdk keeps the message that opened a session, decoded, for as long as it lives.
func TestInitializeIsBounded(t *testing.T) {
	initialize := func(size int) string {
		return strings.Replace(initializeBody, `"name":"x"`, `"name":"`+strings.Repeat("x", size)+`"`, 1)
	}
	h := newHandler(t, rawServer(ran), mcphttp.HandlerOptions{}, mcphttp.Limits{Sessions: 10, Initialize: 9000})
	session := open(t, h, "")
	for _, p := range []post{
		legacy(initialize(9000)), legacy("[" + initialize(5000) + "," + initialize(5000) + "]"),
		legacy(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"x":"` + strings.Repeat("x", 5000) + `"}}}`).in(session),
	} {
		require.Equal(t, http.StatusRequestEntityTooLarge, serve(h, p).status)
	}
	for range 10 {
		require.Equal(t, http.StatusOK, serve(h, legacy(initialize(8000))).status)
	}
	require.Equal(t, 2, mcphttp.OpenSessions(h), "2 KiB for each of 10 sessions are room for two of 8 KB")
}

// The subscriptions of a client are bounded, in both eras.
func TestSubscriptionsAreBounded(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	h := newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})
	session := open(t, h, "")
	subscribe := func(session, method, address string) response {
		return serve(h, legacy(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, address)).in(session))
	}
	for i := range 1000 {
		require.Contains(t, subscribe(session, "resources/subscribe", fmt.Sprintf("test://%d", i)).body, `"result"`)
	}
	res := subscribe(session, "resources/subscribe", "test://more")
	require.Equal(t, http.StatusTooManyRequests, res.status)
	require.Contains(t, res.body, `"id":1,"error":{"code":-31000,"message":"too many subscriptions`)
	require.Contains(t, subscribe(session, "resources/unsubscribe", "test://1").body, `"result"`)
	require.Contains(t, subscribe(session, "resources/subscribe", "test://more").body, `"result"`)
	require.Equal(t, http.StatusTooManyRequests, subscribe(open(t, h, ""), "resources/subscribe", strings.Repeat("x", 70_000)).status)
	res = serve(h, modernPost(listenMethod, "", `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["`+strings.Repeat("x", 70_000)+`"]},`+modernMeta+`}}`))
	require.Equal(t, http.StatusBadRequest, res.status)
	require.Contains(t, res.body, `"id":2,"error":{"code":-32602`)
}

// The end of a session cancels its calls. A handler that does not heed that keeps nobody
// waiting, and the session ends with it.
func TestDeleteDoesNotWaitForCalls(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			h := newHandler(t, rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case <-onlyIf(heeds, ctx.Done()):
				case <-time.After(time.Minute):
				}
				ended <- ctx.Err()
				return say("over")
			}), mcphttp.HandlerOptions{}, mcphttp.Limits{})
			session := open(t, h, "")
			called := begin(t.Context(), h, legacyCall("7").in(session))
			synctest.Wait()
			began, end := time.Now(), post{clientHeaders + "DELETE\n", ""}.in(session)
			res := serveIn(t.Context(), h, end)
			if heeds {
				require.Equal(t, http.StatusNoContent, res.status)
				require.Zero(t, time.Since(began))
			} else {
				require.Equal(t, http.StatusAccepted, res.status)
				require.Equal(t, time.Second, time.Since(began))
				require.Equal(t, 1, mcphttp.OpenSessions(h))
				before := runtime.NumGoroutine()
				for range 20 {
					require.Equal(t, http.StatusAccepted, serveIn(t.Context(), h, end).status)
				}
				synctest.Wait()
				require.LessOrEqual(t, runtime.NumGoroutine(), before+5)
			}
			require.ErrorIs(t, <-ended, context.Canceled)
			<-called
			synctest.Wait()
			require.Zero(t, mcphttp.OpenSessions(h))
			require.Equal(t, http.StatusNotFound, serve(h, end).status)
		})
	}
}

// An answer of a legacy client in which a member stands twice ends its question, and nothing
// else.
func TestAnAnswerOverTheSessionThatStandsTwiceEndsItsQuestion(t *testing.T) {
	asked := make(chan error, 2)
	url := listen(t, newHandler(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, wire.TextForm("q?", "q"))
		asked <- err
		return say("over")
	}), mcphttp.HandlerOptions{}, mcphttp.Limits{}))
	client := dial(t, url, &wire.Options{Version: wire.Legacy})
	answers := wire.Answers{"*": wire.InTurn(wire.Raw(`{"action":"decline","action":"accept","content":{"q":"yes"}}`), wire.Raw(`{"action":"accept","content":{"q":"yes"}}`))}
	out := must(client.Call(t.Context(), "tool", map[string]any{}, answers))(t)
	require.Equal(t, "over", out.Text)
	require.ErrorContains(t, <-asked, `an answer has two members "action"`)
	must(client.Call(t.Context(), "tool", map[string]any{}, answers))(t)
	require.NoError(t, <-asked)
}

// Several handlers may stand in front of one server: each call belongs to the one that its
// request came to, in a session or without one, whichever handler was used first. A server
// that pings its clients (KeepAlive) keeps those that it cannot ping.
func TestOneServerBehindSeveralHandlers(t *testing.T) {
	for _, first := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{KeepAlive: time.Second})
			server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				time.Sleep(10 * time.Second)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, context.Cause(ctx)
			})
			handlers := []*mcphttp.Handler{newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{}), newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})}
			for i := range 4 {
				h := handlers[(first+i)%2]
				session := open(t, h, "")
				require.Contains(t, serve(h, legacyCall("7").in(session)).body, `"ran"`)
				require.Contains(t, serve(h, callOf("tool", "")).body, `"ran"`)
				require.Contains(t, serve(h, legacy(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)).body, `"result":{}`)
				require.Contains(t, serve(h, legacy(`{"jsonrpc":"2.0","id":8,"method":"ping"}`).in(session)).body, `"result":{}`)
			}
		})
	}
}
