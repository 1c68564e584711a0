package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/mcphttp/internal/lean"
)

// fate is what becomes of a generated request while it is served. Handlers act at whole
// seconds after their request came, clients and operators at other fractions, and the clocks
// of a server at odd ones. So no two things happen at once.
type fate struct {
	keepAlive, heartbeat time.Duration // of the server
	waits                time.Duration // in middleware, before the handler begins
	works                int           // seconds that the handler takes
	tells                bool          // it notifies its client each second
	heeds                string        // how it takes that it is cancelled
	gone                 bool          // the client has hung up before
	hangsUp              time.Duration // when it hangs up; 0 for never
	why                  error         // the cause of that; nil for net/http's way
	shutsDown, patience  time.Duration // 0: the front goes on
}

var errProxyGone = errors.New("the proxy went away")

func (g *generator) fate() fate {
	seconds := func(n int) time.Duration { return time.Duration(g.IntN(n)) * time.Second }
	f := fate{
		heartbeat: []time.Duration{time.Hour, 2*time.Second + 13*time.Millisecond}[g.IntN(2)], keepAlive: []time.Duration{0, time.Second + 17*time.Millisecond}[g.IntN(2)],
		waits: seconds(6), works: 1 + g.IntN(6), tells: g.IntN(2) == 0, gone: g.IntN(12) == 0,
		heeds: g.one("", "context", "cause", "wrapped cause", "own error", "own result", "tool error", "late"),
	}
	if g.IntN(2) == 0 {
		f.hangsUp = seconds(8) + 300*time.Millisecond
	}
	if g.IntN(3) == 0 {
		f.why = errProxyGone
	}
	if g.IntN(2) == 0 {
		f.shutsDown, f.patience = seconds(8)+700*time.Millisecond, seconds(4)
	}
	return f
}

// stopped is what a handler returns that was cancelled.
func (f fate) stopped(ctx context.Context) (mcp.Result, error) {
	switch f.heeds {
	case "late":
		time.Sleep(2 * time.Second)
	case "cause":
		return nil, context.Cause(ctx)
	case "wrapped cause":
		return nil, fmt.Errorf("stopped: %w", context.Cause(ctx))
	case "own error":
		return nil, errors.New("stopped")
	case "own result":
		return say("stopped")
	case "tool error":
		result := &mcp.CallToolResult{}
		result.SetError(ctx.Err())
		return result, nil
	}
	return nil, ctx.Err()
}

// account is all that its handler and its client can tell of a request with a fate. Times
// count from the request.
type account struct {
	Told             []string // by the handler: what it saw, and when
	Status           int
	Sent             http.Header
	Arrived, Unread  string // before and after the client hung up, with the times
	Over, ShutDown   time.Duration
	Shutdown         string
	lean, ran        bool
	cause            error
	began, cancelled time.Duration
}

// timed is the client's end of a response. It notes when each part was flushed.
type timed struct {
	*httptest.ResponseRecorder
	f     fate
	start time.Time
	*account
}

func (w timed) Flush() { w.FlushError() }

func (w timed) FlushError() error {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
		w.Status, w.Sent = w.Code, w.Result().Header
	}
	if part := w.Body.String(); part != "" {
		w.Body.Reset()
		to, now := &w.Arrived, time.Since(w.start)
		if w.f.gone || w.f.hangsUp > 0 && now >= w.f.hangsUp {
			to = &w.Unread
		}
		*to += fmt.Sprint(now, " ", part)
	}
	return nil
}

// handle is the innermost middleware. The handler has its result at once, and takes its time
// to return it.
func (f fate) handle(a *account, start time.Time, next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (_ mcp.Result, err error) {
		tell := func(what ...any) { a.Told = append(a.Told, fmt.Sprint(time.Since(start), what)) }
		a.ran, a.began = true, time.Since(start)
		unhook := context.AfterFunc(ctx, func() { a.cancelled, a.cause = time.Since(start), context.Cause(ctx) })
		defer func() {
			unhook()
			tell(" ended ", ctx.Err(), context.Cause(ctx))
		}()
		over := onlyIf(f.heeds != "", ctx.Done())
		if over != nil && ctx.Err() != nil {
			return f.stopped(ctx)
		}
		result, err := next(ctx, method, req)
		text, _ := json.Marshal(result)
		tell(method, string(text), err)
		for i := range f.works {
			select {
			case <-over:
				return f.stopped(ctx)
			case <-time.After(time.Second):
			}
			if f.tells {
				tell(req.GetSession().(*mcp.ServerSession).NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: float64(i)}))
			}
		}
		return result, err
	}
}

// play lets the fate of a request happen, on one of the ways.
func (f fate) play(t *testing.T, p post, stock bool, wrap func(http.Handler) http.Handler) (a account) {
	synctest.Test(t, func(t *testing.T) {
		server := leanSubject(&mcp.ServerOptions{KeepAlive: f.keepAlive})
		h := newHandler(t, server, mcphttp.HandlerOptions{StockFront: stock}, mcphttp.Limits{Heartbeat: f.heartbeat})
		front, start, fated, all := wrap(h), time.Now(), false, sync.WaitGroup{}
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			handle := f.handle(&a, start, next)
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if fated {
					return handle(ctx, method, req)
				}
				return next(ctx, method, req)
			}
		})
		serve(front, p) // by which the front learns of the server and the arguments
		fated = true
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				time.Sleep(f.waits)
				return next(ctx, method, req)
			}
		})
		if f.shutsDown > 0 {
			all.Go(func() {
				time.Sleep(f.shutsDown)
				ctx, cancel := context.WithTimeout(t.Context(), f.patience)
				defer cancel()
				a.Shutdown, a.ShutDown = fmt.Sprint(h.Shutdown(ctx)), time.Since(start)
			})
		}
		ctx, hangUp := context.WithCancelCause(t.Context())
		defer hangUp(nil)
		if f.gone {
			hangUp(f.why)
		} else if f.hangsUp > 0 {
			time.AfterFunc(f.hangsUp, func() { hangUp(f.why) })
		}
		w, before := timed{httptest.NewRecorder(), f, start, &a}, leanCalls(h, stock)
		front.ServeHTTP(w, p.request().WithContext(ctx))
		a.lean = leanCalls(h, stock) > before
		_ = w.FlushError()
		a.Over = time.Since(start)
		all.Wait()
		require.NoError(t, h.Shutdown(t.Context()), "a call did not give its place back")
	})
	return a
}

func leanCalls(h *mcphttp.Handler, stock bool) uint64 {
	if stock {
		return 0
	}
	return mcphttp.LeanCalls(h)
}

// end names what became of a request that its handler saw.
func (a account) end() string {
	switch {
	case !a.ran:
		return "did not run"
	case a.cause == nil:
		return "ran"
	}
	return fmt.Sprint(a.cause, map[bool]string{true: ", before it began"}[a.cancelled <= a.began])
}

// text is an account without what may differ: an answer that comes at once has its length, and
// go-sdk may still write an answer as its client hangs up.
func (a account) text(t *testing.T) string {
	delete(a.Sent, "Content-Length")
	if !a.lean && (strings.Contains(a.Unread, `"result":`) || strings.Contains(a.Unread, `"error":`)) {
		a.Unread = ""
	}
	return string(must(json.MarshalIndent(a, "", " "))(t))
}

// Whatever becomes of a request while it is served, its client and its handler cannot tell
// which way it took.
func TestBothWaysEndAlike(t *testing.T) {
	g, ends, taken := newGenerator(1), map[string]int{}, map[string]int{}
	for range max(*posts/8, 100) { // fewer come to fewer ends
		p, f := g.usualPost(), g.fate()
		for _, wrap := range users {
			stock, lean := f.play(t, p, true, wrap), f.play(t, p, false, wrap)
			ends[lean.end()]++
			if lean.lean {
				taken[lean.end()]++
			}
			require.Equal(t, stock.text(t), lean.text(t), "%+v\n%s\n%q", f, p.headers, p.body)
		}
	}
	t.Logf("ends %v, of which past go-sdk's HTTP layer %v", ends, taken)
	require.Len(t, ends, 8)
	require.Len(t, taken, 7, "all that ran")
}

// On both ways middleware sees the requests of clients and no other, in the order in which it
// was added, also after the first request. A goroutine that outlives its call cannot write to
// anybody's response. A request that a handler makes of another server, with its own context,
// is served by that one.
func TestHandlersOnBothWays(t *testing.T) {
	for _, stock := range []bool{false, true} {
		var seen []string
		answered, late := make(chan struct{}), make(chan error, 2)
		inner := newHandler(t, mcp.NewServer(&mcp.Implementation{Name: "inner server", Version: "1"}, nil), mcphttp.HandlerOptions{}, mcphttp.Limits{})
		server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			go func() {
				<-answered
				for _, ctx := range []context.Context{ctx, context.WithoutCancel(ctx)} {
					late <- req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1})
				}
			}()
			return say(serveIn(ctx, inner, modernPost("server/discover", "", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+modernMeta+`}}`)).body)
		})
		note := func(name string) {
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					seen = append(seen, name+" "+method)
					return next(ctx, method, req)
				}
			})
		}
		note("first")
		h := newHandler(t, server, mcphttp.HandlerOptions{StockFront: stock}, mcphttp.Limits{})
		require.Equal(t, http.StatusBadRequest, serve(h, callOf("unknown", ``)).status)
		note("second")
		for _, arguments := range []string{``, `"arguments":{"a":1},`} { // which go-sdk serves the first time
			body := serve(h, callOf("tool", arguments)).body
			require.Contains(t, body, "inner server")
			require.NotContains(t, body, "progress")
		}
		require.Equal(t, []string{"first tools/call", "second tools/call", "first tools/call", "second tools/call", "first tools/call"}, seen)
		close(answered)
		for range 4 {
			require.Error(t, <-late)
		}
	}
}

// A handler that panics ends the program, whichever way its call came, and the program
// says where.
func TestAPanicEndsTheProgramOnBothWays(t *testing.T) {
	const asked = "MRTR_TEST_PANIC"
	if front := os.Getenv(asked); front != "" {
		h := newHandler(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return fail() }), mcphttp.HandlerOptions{StockFront: front == "stock"}, mcphttp.Limits{})
		serve(h, callOf("unknown", ``))
		send(t, listen(t, h), callOf("tool", ``))
		return
	}
	for _, front := range []string{"lean", "stock"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
		child.Env = append(os.Environ(), asked+"="+front)
		output, err := child.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s: %s", front, output)
		require.Equal(t, 2, exit.ExitCode(), "%s: %s", front, output)
		require.Contains(t, string(output), "panic: this handler is broken", front)
		require.Contains(t, string(output), "mcphttp_test.fail(", front)
	}
}

//go:noinline
func fail() (*mcp.CallToolResult, error) { panic("this handler is broken") }

// A call without an answer ends with its request, not before, and not later.
func TestCallsWithoutAnAnswer(t *testing.T) {
	for explanation, handler := range map[string]mcp.ToolHandler{
		"a result that cannot be encoded": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
		},
		"a handler that ends its goroutine": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runtime.Goexit()
			return nil, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWays(t, rawServer(handler), plainly)
			w.requireAlike(t, callOf("unknown", ``))
			ctx, hangUp := context.WithCancel(t.Context())
			answered := begin(ctx, w.lean, callOf("tool", ``))
			time.Sleep(10 * time.Second)
			require.Empty(t, answered, explanation)
			hangUp()
			require.Empty(t, (<-answered).body, explanation)
			require.EqualValues(t, 1, mcphttp.LeanCalls(w.handler))
		})
	}
}

// A usual call passes none of go-sdk's decoders, each of which allocates 32 KiB. Most of
// the allocations are those of go-sdk's session. To read it allocates next to nothing.
func TestAUsualCallAllocatesLittle(t *testing.T) {
	w := newWays(t, rawServer(ran), plainly)
	call := callOf("tool", `"arguments":{"a":1,"b":[{"c":"d"}]},"inputResponses":{"a":{"action":"accept","content":{"b":"c"}}},"requestState":"x",`)
	require.True(t, w.isLean(callOf("unknown", ``)) || w.isLean(call))
	const calls = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		require.Equal(t, http.StatusOK, serve(w.lean, call).status)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/calls, uint64(32<<10))
	require.LessOrEqual(t, (after.Mallocs-before.Mallocs)/calls, uint64(195))

	r, front := call.request(), &lean.Front{}
	require.NotNil(t, front.Read(r, []byte(call.body)))
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { front.Read(r, []byte(call.body)) }), 6.0)
}
