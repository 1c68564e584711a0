package mcphttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
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

// Calls that one principal, or the crowd of those whom nobody knows, has left behind with
// handlers that go on take no place from the next user. The first call of a kind goes
// through go-sdk, and the later ones past it.
func TestTheNextUserFindsRoom(t *testing.T) {
	cells := 0
	for kind, c := range map[string]struct {
		stateless, session bool
		body               string
		edit               func(*http.Request)
	}{
		"modern":           {body: callModern, edit: modernHeaders},
		"in sessions":      {session: true},
		"without sessions": {stateless: true},
	} {
		for _, taker := range []string{"ann", ""} {
			t.Run(fmt.Sprintf("%s, taken by %q", kind, taker), func(t *testing.T) {
				s := newWaiting(false)
				h := newHandler(t, s.server, &mcphttp.HandlerOptions{Stateless: c.stateless, MaxCalls: 80})
				o := newOpener(t, h)
				sessions := map[string]string{}
				if c.session {
					sessions = map[string]string{taker: o.open(taker), "bob": o.open("bob")}
				}
				post := func(ctx context.Context, user string, n int) <-chan int {
					status, body := make(chan int, 1), c.body
					if body == "" {
						body = callBody(strconv.Itoa(n), `"x":0`)
					}
					go func() {
						status <- direct(ctx, o.h, body, inSession(sessions[user], c.edit, func(r *http.Request) {
							r.RemoteAddr = fmt.Sprintf("192.0.2.1:%d", n)
							if user != "" {
								r.Header.Set("Authorization", "Bearer "+user)
							}
						})).Code
					}()
					return status
				}
				ctx, hangUp := context.WithCancel(t.Context())
				taken, refused := 0, 0
				for n := range 64 {
					select {
					case <-s.began:
						taken++
					case status := <-post(ctx, taker, n):
						require.Contains(t, []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}, status)
						refused++
					case <-time.After(30 * time.Second):
						require.FailNow(t, "neither taken nor refused")
					}
				}
				for taken+refused < 64 {
					receive(t, s.began, "a call did not begin")
					taken++
				}
				require.Equal(t, 60, taken)
				hangUp()
				require.Contains(t, []int{429, 503}, receive(t, post(t.Context(), taker, 99), "not refused"), "the handlers go on")
				next := post(t.Context(), "bob", 100)
				receive(t, s.began, "bob found no room")
				require.EqualValues(t, 61, s.running.Load())
				close(s.release)
				require.Equal(t, http.StatusOK, <-next)
				cells++
			})
		}
	}
	require.Equal(t, 6, cells)
}

// Calls that hang, made in the process itself, are refused beyond the bound however many
// come, while their clients wait and when they have hung up. When the handlers have
// returned nothing is left of them.
func TestHangingCallsAreBounded(t *testing.T) {
	starts, release := make(chan struct{}, 1000), make(chan struct{})
	h := newHandler(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		starts <- struct{}{}
		<-release
		return say("over")
	}), &mcphttp.HandlerOptions{MaxCalls: 200})
	before := runtime.NumGoroutine()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	refused := make(chan int, 20_000)
	call := func(n int) {
		w := direct(ctx, h, callModern, func(r *http.Request) {
			modernHeaders(r)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:%d", n>>12, n&0xfff)
		})
		if w.Code == http.StatusServiceUnavailable {
			refused <- n
		}
	}
	began := 0
	for n := range 20_000 {
		if n == 10_000 {
			hangUp()
		}
		go call(n)
		select {
		case <-starts:
			began++
		case <-refused:
		case <-time.After(30 * time.Second):
			require.FailNow(t, "neither begun nor refused", n)
		}
	}
	require.Equal(t, 150, began, "three quarters, because nobody knows the callers")
	close(release)
	for at := time.Now(); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Since(at) > 5*time.Second {
			stacks := make([]byte, 1<<20)
			require.FailNow(t, "left over", "%d goroutines were %d\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	require.Contains(t, direct(t.Context(), h, callModern, modernHeaders).Body.String(), "over")
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

// Several handlers may stand in front of one server: each call belongs to the one that its
// request came to, in a session or without one, whichever handler was used first.
func TestOneServerBehindSeveralHandlers(t *testing.T) {
	calls := 0
	for _, first := range []int{0, 1} {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, context.Cause(ctx)
		})
		var handlers []*mcphttp.Handler
		for range 2 {
			h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
			require.NoError(t, err)
			handlers = append(handlers, h)
		}
		for i := range 4 {
			h := handlers[(first+i)%2]
			o := newOpener(t, h)
			session := o.open("")
			for _, id := range []string{session, ""} {
				w := o.post("", id, `{"jsonrpc":"2.0","id":`+strconv.Itoa(10+i)+`,"method":"tools/call","params":{"name":"tool"}}`)
				if id != "" {
					calls++
					require.Contains(t, w.Body.String(), `"ran"`)
				}
				w = o.post("", id, `{"jsonrpc":"2.0","id":`+strconv.Itoa(20+i)+`,"method":"ping"}`)
				require.Contains(t, w.Body.String(), `"result":{}`)
			}
		}
	}
	require.Equal(t, 8, calls)
}
