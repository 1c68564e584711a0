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

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// waiting is a server whose tool waits until release is closed, or, if it heeds that, its
// call ends.
type waiting struct {
	server  *mcp.Server
	running atomic.Int64
	began   chan struct{}
	release chan struct{}
	ended   chan error // why, or nil
}

func newWaiting(heeds bool) *waiting {
	s := &waiting{began: make(chan struct{}, 1000), release: make(chan struct{}), ended: make(chan error, 1000)}
	s.server = rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.running.Add(1)
		defer s.running.Add(-1)
		s.began <- struct{}{}
		done := ctx.Done()
		if !heeds {
			done = nil
		}
		select {
		case <-s.release:
		case <-done:
		case <-time.After(30 * time.Second): // the test has failed
		}
		s.ended <- ctx.Err()
		return say("over")
	})
	return s
}

// start is send on a goroutine of its own.
func start(t *testing.T, url, body string, edit func(*http.Request)) <-chan response {
	called := make(chan response, 1)
	go func() { called <- send(t, http.MethodPost, url, body, edit) }()
	return called
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
		{"modern calls of a connection", mcphttp.HandlerOptions{MaxCallsPerPrincipal: 1}, callModern, 1, modernHeaders, http.StatusTooManyRequests},
		{"modern calls of all", mcphttp.HandlerOptions{MaxCalls: 1}, callModern, 1, modernHeaders, http.StatusServiceUnavailable},
		{"legacy calls of a session", mcphttp.HandlerOptions{MaxCallsPerSession: 1}, callBody("6", `"x":0`), 1, nil, http.StatusTooManyRequests},
		{"legacy calls of a connection", mcphttp.HandlerOptions{MaxCallsPerPrincipal: 1}, callBody("7", `"x":0`), 1, nil, http.StatusTooManyRequests},
		{"legacy calls of all", mcphttp.HandlerOptions{MaxCalls: 1}, callBody("7", `"x":0`), 1, nil, http.StatusServiceUnavailable},
		{"a batch in a session", mcphttp.HandlerOptions{MaxCallsPerSession: 3}, callBatch(3), 3, nil, http.StatusTooManyRequests},
		{"calls without sessions", mcphttp.HandlerOptions{Stateless: true, MaxCallsPerPrincipal: 1}, callBody("7", `"x":0`), 1, nil, http.StatusTooManyRequests},
		{"a batch without sessions", mcphttp.HandlerOptions{Stateless: true, MaxCalls: 3}, callBatch(3), 3, nil, http.StatusServiceUnavailable},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			s := newWaiting(true)
			h := newHandler(t, s.server, &c.opts)
			o := newOpener(t, h)
			session := ""
			if !c.opts.Stateless {
				session = o.open("")
			}
			post := func(body string) *httptest.ResponseRecorder {
				return direct(t.Context(), h, body, inSession(session, c.edit))
			}
			first := make(chan *httptest.ResponseRecorder)
			go func() { first <- post(c.body) }()
			for range c.calls {
				receive(t, s.began, "the calls did not run")
			}
			single := callBody("7", `"x":0`)
			if c.edit != nil {
				single = callModern
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
		h := newHandler(t, newWaiting(true).server, &mcphttp.HandlerOptions{Stateless: stateless})
		w := newOpener(t, h).post("", "", batchOf(101))
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, stateless)
	}
}

// Without sessions there is nothing to send a cancellation to, and calls end with
// their client and with Shutdown all the same.
func TestStatelessLegacyCallsEndWithTheirRequest(t *testing.T) {
	for _, how := range []string{"the client hangs up", "the server shuts down"} {
		t.Run(how, func(t *testing.T) {
			s := newWaiting(true)
			h := newHandler(t, s.server, &mcphttp.HandlerOptions{Stateless: true})
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			served := make(chan struct{})
			go func() {
				defer close(served)
				direct(ctx, h, callBatch(3), inSession(""))
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
