package mcphttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
)

// A client that hangs up on a handler which ignores that has the call in flight until
// the handler returns, so that it cannot start as many as it likes.
func TestAHandlerThatOutlivesItsClientIsInFlight(t *testing.T) {
	t.Parallel() // it mostly waits
	call := callBody("7", `"x":0`)
	for _, c := range []struct {
		explanation string
		opts        mcphttp.HandlerOptions
		body        string
		handlers    int
		status      int
	}{
		{"in its session", mcphttp.HandlerOptions{MaxCallsPerSession: 1}, call, 1, http.StatusTooManyRequests},
		{"in total", mcphttp.HandlerOptions{MaxCalls: 1}, call, 1, http.StatusServiceUnavailable},
		{"a batch", mcphttp.HandlerOptions{MaxCallsPerSession: 3}, callBatch(3), 3, http.StatusTooManyRequests},
		{"without a session", mcphttp.HandlerOptions{Stateless: true, MaxCalls: 1}, call, 1, http.StatusServiceUnavailable},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			began, release := make(chan struct{}, 10), make(chan struct{})
			headers := make(chan http.Header, 10)
			server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				headers <- req.Extra.Header
				began <- struct{}{}
				select {
				case <-release:
				case <-time.After(30 * time.Second): // the test has failed
				}
				return say("over")
			})
			_, url := front(t, server, &c.opts)
			session := send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
			inSession := func(r *http.Request) { r.Header.Set("Mcp-Session-Id", session) }
			ctx, hangUp := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(c.body))
				if err != nil {
					return
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				inSession(r)
				if res, err := http.DefaultClient.Do(r); err == nil {
					res.Body.Close()
				}
			}()
			for range c.handlers {
				receive(t, began, "a call did not begin")
			}
			hangUp()
			<-gone
			for range 20 { // the server notices within this time
				require.Equal(t, c.status, send(t, http.MethodPost, url, call, inSession).status)
				time.Sleep(10 * time.Millisecond)
			}
			close(release)
			require.Eventually(t, func() bool {
				return send(t, http.MethodPost, url, c.body, inSession).status == http.StatusOK
			}, 5*time.Second, 10*time.Millisecond, "the calls did not give back their places")
			require.Empty(t, (<-headers).Get("Mrtr-Post"), "a header of the handler's own reaches nobody")
		})
	}
}
