package ways_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A call is in flight until its handler has returned, also when it was cancelled: 100 of
// one connection leave no place for another. Over HTTP the same is held by
// TestAHandlerThatOutlivesItsClientIsInFlight.
func TestACancelledCallIsInFlightUntilItReturns(t *testing.T) {
	cells := 0
	everyWay(t, nil, func(t *testing.T, w way, modern bool, server *mcp.Server) {
		if strings.HasPrefix(w.name, "HTTP") {
			return
		}
		cells++
		began, cancelled, release := make(chan struct{}, 1000), make(chan struct{}, 1000), make(chan struct{})
		server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			began <- struct{}{}
			select {
			case <-ctx.Done():
				cancelled <- struct{}{}
			case <-release:
			}
			<-release // it heeds nothing
			return ran(ctx, req)
		})
		send := w.open(t, server)
		for n := range 100 {
			send(strings.Replace(callSeven(modern, "", ""), `"id":7`, fmt.Sprintf(`"id":%d`, 1000+n), 1))
		}
		for _, happened := range []chan struct{}{began, cancelled} {
			for range 100 {
				select {
				case <-happened:
				case <-time.After(30 * time.Second):
					require.FailNow(t, "the handlers did not begin, or were not cancelled")
				}
			}
			for n := range 100 {
				send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 1000+n))
			}
		}
		// A boundary answers for a handler that does not heed its end, and counts it itself.
		require.Regexp(t, `"code":-31000|"type":"unavailable"`, send(callSeven(modern, "", "")))
		close(release)
		require.Eventually(t, func() bool { return strings.Contains(send(callSeven(modern, "", "")), `"ran"`) }, 30*time.Second, time.Millisecond)
	})
	require.Equal(t, 8, cells)
}
