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
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// bothWays runs a test for a request on each of the ways that it can take.
func bothWays(t *testing.T, test func(t *testing.T, stock bool)) {
	for name, stock := range map[string]bool{"past go-sdk's HTTP layer": false, "through it": true} {
		t.Run(name, func(t *testing.T) { test(t, stock) })
	}
}

// known is a handler for a server that it has seen before, so that usual calls are
// lean unless stock says otherwise.
func known(t *testing.T, server *mcp.Server, stock bool) *mcphttp.Handler {
	t.Helper()
	h := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock}))(t)
	require.Equal(t, http.StatusBadRequest, serve(h, callOf("unknown", ``)).status)
	return h
}

func requireLean(t *testing.T, h *mcphttp.Handler, stock bool, calls int) {
	t.Helper()
	if !stock {
		require.EqualValues(t, calls, mcphttp.LeanCalls(h))
	}
}

// Middleware sees the requests of clients and no other, in the order in which it was
// added, also where it was added after the first request.
func TestMiddlewareSeesEachRequestOnce(t *testing.T) {
	bothWays(t, func(t *testing.T, stock bool) {
		var seen []string
		note := func(name string) mcp.Middleware {
			return func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					seen = append(seen, name+" "+method)
					return next(ctx, method, req)
				}
			}
		}
		server := rawServer(ran)
		server.AddReceivingMiddleware(note("first"))
		h := known(t, server, stock)
		for range 3 {
			serve(h, callOf("tool", ``))
		}
		require.Equal(t, []string{"first tools/call", "first tools/call", "first tools/call", "first tools/call"}, seen)
		server.AddReceivingMiddleware(note("second"))
		seen = nil
		serve(h, callOf("tool", ``))
		require.Equal(t, []string{"second tools/call", "first tools/call"}, seen)
		requireLean(t, h, stock, 4)
	})
}

// Both ways add the same to a result as go-sdk's session does, and refuse alike.
func TestResultsAreCompletedAlike(t *testing.T) {
	named := &mcp.Implementation{Name: "<server>", Title: "é", Version: "1", WebsiteURL: "https://example.com/?a&b", Icons: []mcp.Icon{{Source: "data:,x", Sizes: []string{"any"}}}}
	for explanation, c := range map[string]struct {
		server *mcp.Server
		result mcp.CallToolResult
		lean   uint64
	}{
		"a server of one name":           {mcp.NewServer(named, nil), mcp.CallToolResult{}, 1},
		"a result with metadata":         {mcp.NewServer(named, nil), mcp.CallToolResult{Meta: mcp.Meta{"a": "<b>"}}, 1},
		"a result that names a server":   {mcp.NewServer(named, nil), mcp.CallToolResult{Meta: mcp.Meta{mcp.MetaKeyServerInfo: "other"}}, 1},
		"a server of legacy clients":     {mcp.NewServer(named, &mcp.ServerOptions{SupportedProtocolVersions: []string{"2025-11-25"}}), mcp.CallToolResult{}, 0},
		"a server of modern ones, alone": {mcp.NewServer(named, &mcp.ServerOptions{SupportedProtocolVersions: []string{"2026-07-28"}}), mcp.CallToolResult{}, 1},
	} {
		t.Run(explanation, func(t *testing.T) {
			mrtr.AddRawTool(c.server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				fresh := c.result
				if fresh.Meta != nil {
					fresh.Meta = mcp.Meta{}
					for k, v := range c.result.Meta {
						fresh.Meta[k] = v
					}
				}
				return &fresh, nil
			})
			w := newWays(t, c.server, plainly)
			for range 2 {
				w.requireAlike(t, callOf("tool", ``))
			}
			require.Equal(t, c.lean, mcphttp.LeanCalls(w.handler))
		})
	}
}

type hits struct {
	mcp.ResultBase
	Hits []string `json:"hits"`
}

type around struct {
	mcp.CompleteResult
	More string `json:"more"`
}

// Middleware may answer itself, with a result of any type or with an error.
func TestMiddlewareAnswersAlike(t *testing.T) {
	const pinged = "the result of a ping"
	for explanation, answer := range map[string]func() (mcp.Result, error){
		"a result of its own type": func() (mcp.Result, error) { return &hits{Hits: []string{"<é\u2028>"}}, nil },
		"an unknown method":        nil,
		pinged:                     nil,
		"a tool's result":          func() (mcp.Result, error) { return &mcp.CallToolResult{Content: []mcp.Content{}}, nil },
		"another method's result":  func() (mcp.Result, error) { return &mcp.ReadResourceResult{}, nil },
		"a list":                   func() (mcp.Result, error) { return &mcp.ListToolsResult{Tools: []*mcp.Tool{}}, nil },
		"a result around another":  func() (mcp.Result, error) { return &around{More: "x"}, nil },
		"an error":                 func() (mcp.Result, error) { return nil, errors.New("<no>") },
		"a result beside an error": func() (mcp.Result, error) { return &mcp.CallToolResult{}, errors.New("no") },
		"an error with its own data": func() (mcp.Result, error) {
			return nil, &jsonrpc.Error{Code: -31000, Message: "no", Data: []byte(`{"a":1}`)}
		},
	} {
		t.Run(explanation, func(t *testing.T) {
			server := rawServer(nil)
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
					switch {
					case answer != nil:
						return answer()
					case explanation == pinged:
						return next(ctx, "ping", &mcp.ServerRequest[*mcp.PingParams]{Session: req.GetSession().(*mcp.ServerSession)})
					}
					return next(ctx, "no/such", req)
				}
			})
			w := newWays(t, server, plainly)
			for range 2 {
				w.requireAlike(t, callOf("tool", ``))
			}
			require.EqualValues(t, 1, mcphttp.LeanCalls(w.handler))
		})
	}
}

// A handler that panics ends the program, whichever way its call came, and the program
// says where.
func TestAPanicEndsTheProgramOnBothWays(t *testing.T) {
	const asked = "MRTR_TEST_PANIC"
	if front := os.Getenv(asked); front != "" {
		server := rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return fail() })
		web := httptest.NewServer(known(t, server, front == "stock"))
		defer web.Close()
		send(t, http.MethodPost, web.URL, callOf("tool", ``).body, modernHeaders)
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
		t.Run(explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := known(t, rawServer(handler), false)
				ctx, cancel := context.WithCancel(t.Context())
				w, served := httptest.NewRecorder(), make(chan struct{})
				go func() {
					defer close(served)
					h.ServeHTTP(w, callOf("tool", ``).request().WithContext(ctx))
				}()
				time.Sleep(time.Second)
				select {
				case <-served:
					require.Fail(t, "it was answered", w.Body.String())
				default:
				}
				cancel()
				<-served
				require.Empty(t, w.Body.String())
				require.NoError(t, h.Shutdown(t.Context()), "its place was not given back")
				requireLean(t, h, false, 1)
			})
		})
	}
}

// A server with KeepAlive pings its sessions, which no client of this revision answers.
// A call that takes longer still has its notifications and its answer.
func TestCallsOutliveKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{KeepAlive: time.Second})
		mrtr.AddRawTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(10 * time.Second)
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: 1}); err != nil {
				return nil, err
			}
			return say("ran")
		})
		h := known(t, server, false)
		res := serve(h, callOf("tool", ``))
		require.Contains(t, res.body, "notifications/progress")
		require.Contains(t, res.body, `"text":"ran"`)
		requireLean(t, h, false, 1)
	})
}

// A goroutine that outlives its call cannot write to anybody's response.
func TestNotificationsAfterTheAnswerAreRefused(t *testing.T) {
	bothWays(t, func(t *testing.T, stock bool) {
		answered, late := make(chan struct{}), make(chan error, 2)
		server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			go func() {
				<-answered
				for _, ctx := range []context.Context{ctx, context.WithoutCancel(ctx)} {
					late <- req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1})
				}
			}()
			return say("ran")
		})
		h := known(t, server, stock)
		require.NotContains(t, serve(h, callOf("tool", ``)).body, "progress")
		close(answered)
		require.Error(t, <-late)
		require.Error(t, <-late)
		requireLean(t, h, stock, 1)
	})
}

// A usual call passes none of go-sdk's decoders, each of which allocates 32 KiB. Most of
// the allocations are those of go-sdk's session.
func TestAUsualCallAllocatesLittle(t *testing.T) {
	h := known(t, rawServer(ran), false)
	call := callOf("tool", `"arguments":{"a":1},"inputResponses":{"a":{"action":"accept","content":{"b":"c"}}},"requestState":"x",`)
	const calls = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		require.Equal(t, http.StatusOK, serve(h, call).status)
	}
	runtime.ReadMemStats(&after)
	bytes, allocations := (after.TotalAlloc-before.TotalAlloc)/calls, (after.Mallocs-before.Mallocs)/calls
	t.Logf("%d bytes and %d allocations a call", bytes, allocations)
	require.Less(t, bytes, uint64(32<<10))
	require.LessOrEqual(t, allocations, uint64(190))
	require.Greater(t, mcphttp.LeanCalls(h), uint64(calls/2))
}

// A handler may make a request to another server of its program without a network, with
// its own context. That one is served by the other server.
func TestARequestWithinACallHasItsOwnServer(t *testing.T) {
	bothWays(t, func(t *testing.T, stock bool) {
		named := func(name string, tool mcp.ToolHandler) *mcphttp.Handler {
			server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
			mrtr.AddRawTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, tool)
			h := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock}))(t)
			return h
		}
		inner := named("inner server", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("ran") })
		outer := named("outer server", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			w := httptest.NewRecorder()
			inner.ServeHTTP(w, post{
				"Content-Type: application/json\nAccept: */*\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/list\n",
				`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + versionMember + `:"2026-07-28",` + capabilitiesMember + `:{}}}}`,
			}.request().WithContext(ctx))
			return say(w.Body.String())
		})
		for range 3 {
			require.Contains(t, serve(outer, callOf("tool", ``)).body, "inner server")
		}
	})
}

// listPost asks for a page of the tools.
func listPost(cursor string) post {
	if cursor != "" {
		cursor = fmt.Sprintf(`"cursor":%q,`, cursor)
	}
	return post{
		"Content-Type: application/json\nAccept: application/json, text/event-stream\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/list\n",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s"_meta":{%s:"2026-07-28",%s:{}}}}`, cursor, versionMember, capabilitiesMember),
	}
}

// A list is encoded once, until it changes, and is always the one that go-sdk would send.
func TestListsOfToolsAreAlike(t *testing.T) {
	named := func(name, description string) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{ "type": "object", "description": "<&>\u2028" }`)}
	}
	hidden := ""
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
				list.Tools = slices.DeleteFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == hidden })
			}
			return result, err
		}
	})
	w := newWays(t, server, plainly)
	serve(w.lean, listPost("")) // the first request shows the server
	asked := 0
	requireAlike := func() {
		for cursor := range 2 {
			for range 2 {
				page := listPost("")
				if cursor == 1 {
					_, next, more := strings.Cut(serve(w.lean, listPost("")).body, `"nextCursor":"`)
					asked++
					if !more {
						continue
					}
					next, _, _ = strings.Cut(next, `"`)
					page = listPost(next)
				}
				w.requireAlike(t, page)
				asked++
			}
		}
	}
	requireAlike()
	for n := range 20 {
		mrtr.AddRawTool(server, named(fmt.Sprintf("tool%d", n%7), fmt.Sprintf("é %d", n)), ran)
		requireAlike()
		hidden = fmt.Sprintf("tool%d", n%5)
		requireAlike()
		hidden = ""
		requireAlike()
	}
	server.RemoveTools("tool1", "tool3", "tool5")
	requireAlike()
	server.RemoveTools("tool0", "tool2", "tool4", "tool6")
	requireAlike()
	require.EqualValues(t, asked, mcphttp.LeanCalls(w.handler))
	require.Greater(t, asked, 200)
}

func TestAnUnchangedListIsNotEncodedAgain(t *testing.T) {
	encoded := 0
	server := rawServer(ran)
	server.AddTool(&mcp.Tool{Name: "counting", InputSchema: &countingSchema{&encoded}}, ran)
	h := known(t, server, false)
	for range 5 {
		require.Contains(t, serve(h, listPost("")).body, "counting")
	}
	require.LessOrEqual(t, encoded, 4, "go-sdk's AddTool looks at it, and each of two ways encodes it")
	before := encoded
	server.AddTool(&mcp.Tool{Name: "another", InputSchema: map[string]any{"type": "object"}}, ran)
	require.Contains(t, serve(h, listPost("")).body, "another")
	require.Equal(t, before+1, encoded)
}

type countingSchema struct{ encoded *int }

func (s *countingSchema) MarshalJSON() ([]byte, error) {
	*s.encoded++
	return []byte(`{"type":"object"}`), nil
}
