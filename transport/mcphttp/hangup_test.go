package mcphttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// A legacy client that hangs up in the middle of a question cancels the call, as
// a modern one does.
func TestHangingUpCancelsTheCall(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		began, ended := make(chan struct{}), make(chan error, 1)
		waits := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(began)
			if version == "2026-07-28" {
				<-ctx.Done()
			} else if _, err := req.Session.Elicit(ctx, wire.TextForm("q?", "q")); err == nil {
				return say("answered")
			}
			ended <- ctx.Err()
			return say("over")
		}
		_, url := front(t, rawServer(waits), nil)
		client := dial(t, url, &wire.Options{Version: version, Answers: wire.Answers{"*": wire.Silent}})
		must(client.Start(t.Context(), wire.Request{Name: "tool"}))(t)
		<-began
		if version < "2026-07-28" {
			require.Eventually(t, func() bool { return len(client.Asked()) == 1 }, 30*time.Second, time.Millisecond)
		}
		at := time.Now()
		require.NoError(t, client.Close())
		require.ErrorIs(t, receive(t, ended, "the handler never heard of it"), context.Canceled, version)
		require.Less(t, time.Since(at), 10*time.Second)
	}
}

// The call of a client that hangs up knows why it ends, whichever way it takes: go-sdk's
// reader, which sees the end too, must not be the first to say so.
func TestACallKnowsThatItsClientHungUp(t *testing.T) {
	for name, opts := range map[string]*mcphttp.HandlerOptions{
		"lean": {}, "stock": {StockFront: true}, "without sessions": {Stateless: true},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			for range 40 { // each with a first call, which go-sdk serves
				began, ended := make(chan struct{}), make(chan error, 1)
				_, url := front(t, rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					close(began)
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return say("over")
				}), opts)
				client := dial(t, url, &wire.Options{Version: version})
				must(client.Start(t.Context(), wire.Request{Name: "tool"}))(t)
				<-began
				require.NoError(t, client.Close())
				require.Equal(t, mcphttp.ErrHungUp, receive(t, ended, "the handler never heard of it"), "%s, %s", name, version)
			}
		}
	}
}

// A request whose client was gone before it was served runs nothing, in both eras.
func TestARequestOfAClientThatIsGoneRunsNothing(t *testing.T) {
	cells := 0
	for name, c := range map[string]struct {
		stateless, session bool
		body               string
		edit               func(*http.Request)
	}{
		"modern":           {body: callModern, edit: modernHeaders},
		"in a session":     {session: true, body: callBody("7", `"x":0`)},
		"without sessions": {stateless: true, body: callBody("7", `"x":0`)},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			server := rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls.Add(1)
				return say("ran")
			})
			h := must(newFront(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: c.stateless}))(t)
			session := ""
			if c.session {
				session = direct(t.Context(), h, initializeBody, inSession("")).Header().Get("Mcp-Session-Id")
			}
			require.Contains(t, direct(t.Context(), h, c.body, inSession(session, c.edit)).Body.String(), "ran")
			gone, hangUp := context.WithCancel(t.Context())
			hangUp()
			for range 20 { // go-sdk would run some of them
				require.NotContains(t, direct(gone, h, strings.Replace(c.body, `"id":7`, `"id":8`, 1), inSession(session, c.edit)).Body.String(), "ran")
			}
			require.NoError(t, h.Shutdown(t.Context()), "a place was not given back")
			require.EqualValues(t, 1, calls.Load())
			cells++
		})
	}
	require.Equal(t, 3, cells)
}

// hiddenMembers are members beside a call's own that JSON readers which fold
// case would take for it. go-sdk does not, so these calls run.
var hiddenMembers = map[string]string{
	"no method":         `"Method":""`,
	"a method no text":  `"METHOD":5`,
	"another id":        `"ID":99`,
	"an id no id":       `"Id":{}`,
	"other params":      `"Params":5`,
	"an answer besides": `"result":{}`,
	"null":              `"Method":null,"iD":null`,
}

func callBody(id, extra string) string {
	return strings.Replace(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"tool","arguments":{}},EXTRA}`, id), "EXTRA", extra, 1)
}

// Whatever else is in its body, a call does not outlive its client.
func TestHangingUpCancelsHiddenCalls(t *testing.T) {
	call := func(id string) string { return callBody(id, `"x":0`) }
	type post struct {
		body  string
		calls int
		fresh bool // without a session, which the body itself opens
	}
	posts := map[string]post{
		"a text as id":                   {call(`"\u0061\""`), 1, false},
		"a batch":                        {"[" + call("1") + "," + call(`"1"`) + "," + call("2") + "]", 3, false},
		"a batch of one":                 {"[" + call("1") + "]", 1, false},
		"a batch that opens its session": {"[" + initializeBody + "," + call("2") + "]", 1, true},
	}
	for name, member := range hiddenMembers {
		posts[name] = post{callBody("7", member), 1, false}
	}
	for name, p := range posts {
		t.Run(name, func(t *testing.T) {
			s := newWaiting(true)
			_, url := front(t, s.server, nil)
			session := ""
			if !p.fresh {
				session = openSession(t, url)
			}
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			gone := startUntil(ctx, url, p.body, inSession(session))
			for range p.calls {
				receive(t, s.began, "the call did not run")
			}
			hangUp()
			<-gone
			for range p.calls {
				require.ErrorIs(t, receive(t, s.ended, "the call outlived its client"), context.Canceled)
			}
		})
	}
}

// startUntil makes a POST whose client hangs up when ctx ends, and closes gone then.
func startUntil(ctx context.Context, url, body string, edit func(*http.Request)) (gone <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return
		}
		clientHeaders(r)
		edit(r)
		if res, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	return done
}

func receive[T any](t *testing.T, c <-chan T, otherwise string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second): // only a test that would hang waits for it
		require.FailNow(t, otherwise)
		panic("unreachable")
	}
}

// A client that hangs up on a handler which ignores that has the call in flight until
// the handler returns, so that it cannot start as many as it likes.
func TestAHandlerThatOutlivesItsClientIsInFlight(t *testing.T) {
	t.Parallel() // it mostly waits
	call := callBody("7", `"x":0`)
	another := callBody("8", `"x":0`) // under the same id it would wait for the first one
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
		{"a batch that opens its session", mcphttp.HandlerOptions{MaxCalls: 2}, "[" + initializeBody + "," + call + "]", 1, http.StatusServiceUnavailable},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			s := newWaiting(false)
			headers := make(chan http.Header, 10)
			s.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "tools/call" {
						headers <- req.GetExtra().Header
					}
					return next(ctx, method, req)
				}
			})
			_, url := front(t, s.server, &c.opts)
			within := inSession(openSession(t, url))
			ctx, hangUp := context.WithCancel(t.Context())
			first := within
			if strings.Contains(c.body, "initialize") {
				first, another = inSession(""), callBatch(2) // of one that opens no session
			}
			gone := startUntil(ctx, url, c.body, first)
			for range c.handlers {
				receive(t, s.began, "a call did not begin")
			}
			hangUp()
			<-gone
			for range 20 { // the server notices within this time
				require.Equal(t, c.status, send(t, http.MethodPost, url, another, within).status)
				time.Sleep(10 * time.Millisecond)
			}
			close(s.release)
			require.Eventually(t, func() bool {
				return send(t, http.MethodPost, url, another, within).status == http.StatusOK
			}, 5*time.Second, 10*time.Millisecond, "the calls did not give back their places")
			require.Empty(t, (<-headers).Get("Mrtr-Post"), "a header of the handler's own reaches nobody")
		})
	}
}
