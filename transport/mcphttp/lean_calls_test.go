package mcphttp_test

import (
	"context"
	"math"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/mcphttp/internal/lean"
)

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
