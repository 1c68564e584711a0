package mcphttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
)

// waiting is a server whose tool waits until release is closed or its call ends.
type waiting struct {
	server  *mcp.Server
	running atomic.Int64
	began   chan struct{}
	release chan struct{}
}

func newWaiting() *waiting {
	s := &waiting{began: make(chan struct{}, 1000), release: make(chan struct{})}
	s.server = rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.running.Add(1)
		defer s.running.Add(-1)
		s.began <- struct{}{}
		select {
		case <-s.release:
		case <-ctx.Done():
		case <-time.After(30 * time.Second): // the test has failed
		}
		return say("over")
	})
	return s
}

const modernCallBody = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func asModern(r *http.Request) {
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", "tool")
}

func callBatch(n int) string {
	calls := make([]string, n)
	for i := range calls {
		calls[i] = callBody(string(rune('1'+i)), `"x":0`)
	}
	return "[" + strings.Join(calls, ",") + "]"
}

// Calls beyond the cap are refused by their id and without a handler, whatever era
// they are of and however many a body holds; when one ends, another may begin.
func TestCallsInFlightAreCapped(t *testing.T) {
	cases := []struct {
		explanation string
		opts        mcphttp.HandlerOptions
		body        string
		calls       int
		edit        func(*http.Request)
		status      int
	}{
		{"modern calls of a connection", mcphttp.HandlerOptions{MaxCallsPerPrincipal: 1}, modernCallBody, 1, asModern, http.StatusTooManyRequests},
		{"modern calls of all", mcphttp.HandlerOptions{MaxCalls: 1}, modernCallBody, 1, asModern, http.StatusServiceUnavailable},
		{"legacy calls of a session", mcphttp.HandlerOptions{MaxCallsPerSession: 1}, callBody("7", `"x":0`), 1, nil, http.StatusTooManyRequests},
		{"legacy calls of a connection", mcphttp.HandlerOptions{MaxCallsPerPrincipal: 1}, callBody("7", `"x":0`), 1, nil, http.StatusTooManyRequests},
		{"legacy calls of all", mcphttp.HandlerOptions{MaxCalls: 1}, callBody("7", `"x":0`), 1, nil, http.StatusServiceUnavailable},
		{"a batch in a session", mcphttp.HandlerOptions{MaxCallsPerSession: 3}, callBatch(3), 3, nil, http.StatusTooManyRequests},
		{"calls without sessions", mcphttp.HandlerOptions{Stateless: true, MaxCallsPerPrincipal: 1}, callBody("7", `"x":0`), 1, nil, http.StatusTooManyRequests},
		{"a batch without sessions", mcphttp.HandlerOptions{Stateless: true, MaxCalls: 3}, callBatch(3), 3, nil, http.StatusServiceUnavailable},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			s := newWaiting()
			h := newHandler(t, s.server, &c.opts)
			o := newOpener(t, h)
			session := ""
			if !c.opts.Stateless {
				session = o.open("")
			}
			post := func(body string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				if session != "" {
					r.Header.Set("Mcp-Session-Id", session)
				}
				if c.edit != nil {
					c.edit(r)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w
			}
			first := make(chan *httptest.ResponseRecorder)
			go func() { first <- post(c.body) }()
			for range c.calls {
				receive(t, s.began, "the calls did not run")
			}
			single := callBody("7", `"x":0`)
			if c.edit != nil {
				single = modernCallBody
			}
			refused := post(single)
			require.Equal(t, c.status, refused.Code, refused.Body)
			require.NotEmpty(t, refused.Header().Get("Retry-After"))
			require.Contains(t, refused.Body.String(), `"id":7`)
			require.Contains(t, refused.Body.String(), `"code":-31000`)
			require.EqualValues(t, c.calls, s.running.Load())
			close(s.release)
			require.Contains(t, (<-first).Body.String(), "over")
			require.Contains(t, post(single).Body.String(), "over")
		})
	}
}

// No body starts more handlers than a batch may hold, with sessions or without.
func TestNoBodyStartsManyHandlers(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		h := newHandler(t, newWaiting().server, &mcphttp.HandlerOptions{Stateless: stateless})
		w := newOpener(t, h).post("", "", batchOf(101))
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, stateless)
	}
}

// Without sessions there is nothing to send a cancellation to, and calls end with
// their client and with Shutdown all the same.
func TestStatelessLegacyCallsEndWithTheirRequest(t *testing.T) {
	for _, how := range []string{"the client hangs up", "the server shuts down"} {
		t.Run(how, func(t *testing.T) {
			s := newWaiting()
			h := newHandler(t, s.server, &mcphttp.HandlerOptions{Stateless: true})
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			served := make(chan struct{})
			go func() {
				defer close(served)
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(callBatch(3)))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				h.ServeHTTP(httptest.NewRecorder(), r)
			}()
			for range 3 {
				receive(t, s.began, "the calls did not run")
			}
			if how == "the client hangs up" {
				hangUp()
			} else {
				over, cancel := context.WithCancel(t.Context())
				cancel()
				require.ErrorIs(t, h.Shutdown(over), context.Canceled)
			}
			receive(t, served, "the calls outlived their client")
			require.Zero(t, s.running.Load())
		})
	}
}
