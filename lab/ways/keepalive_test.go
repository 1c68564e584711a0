package ways_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A server with KeepAlive pings its sessions. No call loses its answer for that, however
// long it takes: the first one or a later one, with arguments or without.
func TestKeepAliveTakesNoAnswer(t *testing.T) {
	answers := func(w way, modern bool) bool { // the clients that can be pinged, and answer
		return !modern && !strings.HasPrefix(w.name, "HTTP")
	}
	arguments := []string{"", `"arguments":{},`, `"arguments":{"a":%d},`}
	var cells atomic.Int64
	ways := 0
	t.Run("each", func(t *testing.T) {
		ways = everyWay(t, func(w way, modern bool) *mcp.ServerOptions {
			// A ping that a busy machine was too slow to send is no dead client: go-sdk gives each
			// half its interval, and closes the session when so many in a row have failed.
			o := &mcp.ServerOptions{KeepAlive: 10 * time.Millisecond, KeepAliveFailureThreshold: 4, Logger: slog.New(slog.DiscardHandler)}
			if answers(w, modern) {
				o.KeepAlive, o.KeepAliveFailureThreshold = 50*time.Millisecond, 100
			}
			return o
		}, func(t *testing.T, w way, modern bool, server *mcp.Server) {
			t.Parallel() // they mostly wait
			var pings atomic.Int64
			pinged := make(chan struct{}, 1000)
			server.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "ping" {
						pings.Add(1)
						pinged <- struct{}{}
					}
					return next(ctx, method, req)
				}
			})
			server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case <-pinged:
				case <-time.After(30 * time.Millisecond): // a session that was found unable is pinged no more
				}
				time.Sleep(60 * time.Millisecond) // for the end of the session
				return ran(ctx, req)
			})
			send := w.open(t, server)
			for n := range 2 {
				for _, a := range arguments {
					if strings.Contains(a, "%") {
						a = fmt.Sprintf(a, n)
					}
					require.Contains(t, send(callSeven(modern, a, fmt.Sprintf(`,"n":"%d %s"`, n, strings.ReplaceAll(a, `"`, "")))), `"ran"`, "call %d, %s", n, a)
					cells.Add(1)
				}
			}
			sessionless := strings.HasPrefix(w.name, "HTTP") && w.name != "HTTP, in a session"
			require.Equal(t, !sessionless, pings.Load() > 0, "%d pings were tried", pings.Load())
		})
	})
	require.Equal(t, 16, ways)
	require.EqualValues(t, 16*2*len(arguments), cells.Load())
}
