package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

var posts = flag.Int("posts", usualPosts(), "how many generated requests TestBothWaysAnswerAlike and TestBothWaysEndAlike send, the latter a quarter of them")

// usualPosts is six times as many at night.
func usualPosts() int {
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		return 5000
	}
	return 800
}

// ways are a handler that takes the way past go-sdk's HTTP layer where it can, and
// one that never does, in front of the same server.
type ways struct {
	handler     *mcphttp.Handler
	lean, stock http.Handler
}

func newWays(t testing.TB, server *mcp.Server, wrap func(http.Handler) http.Handler) ways {
	h := newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})
	return ways{h, wrap(h), wrap(newHandler(t, server, mcphttp.HandlerOptions{StockFront: true}, mcphttp.Limits{}))}
}

func (w ways) requireAlike(t *testing.T, p post) response {
	t.Helper()
	stock, lean := serve(w.stock, p), serve(w.lean, p)
	if length, ok := lean.header["Content-Length"]; ok { // it has the answer at once
		require.Equal(t, []string{strconv.Itoa(len(lean.body))}, length, "%s\n%q", p.headers, p.body)
		require.NotContains(t, stock.header, "Content-Length")
		delete(lean.header, "Content-Length")
	}
	require.Equal(t, stock, lean, "%s\n%q", p.headers, p.body)
	return stock
}

// isLean reports whether a request goes past go-sdk's HTTP layer.
func (w ways) isLean(p post) bool {
	before := mcphttp.LeanCalls(w.handler)
	serve(w.lean, p)
	return mcphttp.LeanCalls(w.handler) > before
}

// users are how the requests of the generator come: without a token or with one.
var users = map[string]func(http.Handler) http.Handler{
	"without a token": func(h http.Handler) http.Handler { return h },
	"with a token": func(h http.Handler) http.Handler {
		authenticated := named(h)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer ada")
			authenticated.ServeHTTP(w, r)
		})
	},
}

var plainly = users["without a token"]

// Whichever way a request takes, the handler sees the same and so does the client:
// status, headers and body.
func TestBothWaysAnswerAlike(t *testing.T) {
	for name, wrap := range users {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which as many fall into a second, the front's memory, each time
				w, g, statuses, count := newWays(t, leanSubject(nil), wrap), newGenerator(uint64(len(name))), map[int]int{}, *posts*3/8
				for range count {
					statuses[w.requireAlike(t, g.post()).status]++
					time.Sleep(10 * time.Millisecond)
				}
				taken := mcphttp.LeanCalls(w.handler)
				t.Logf("statuses %v, %d of %d past go-sdk's HTTP layer", statuses, taken, count)
				require.Greater(t, taken, uint64(count/10), "too few were lean for this to show anything")
				require.Greater(t, statuses[http.StatusBadRequest], count/10)
			})
		})
	}
}

func FuzzBothWaysAnswerAlike(f *testing.F) {
	g := newGenerator(0)
	for range 200 {
		p := g.post()
		f.Add(p.headers, p.body)
	}
	w := newWays(f, leanSubject(nil), plainly)
	f.Fuzz(func(t *testing.T, headers, body string) {
		w.requireAlike(t, post{headers, body})
	})
}

// A call that is large, deep or hurried goes to go-sdk, and so does one with a name in base64
// only if that is another's.
func TestUsualCallsAreLean(t *testing.T) {
	plain, deep := callOf("observe", ``), strings.Repeat("[", 100)+strings.Repeat("]", 100)
	inBase64 := strings.Replace(plain.headers, "observe", "=?base64?b2JzZXJ2ZQ==?=", 1)
	for _, c := range []struct {
		post
		lean, hurried bool
	}{
		{plain, true, false}, {plain, false, true}, {callOf("unknown", ``), true, false}, {post{inBase64, plain.body}, true, false},
		{callOf("observe", `"arguments":{"a":"`+strings.Repeat("x", 300<<10)+`"},`), false, false}, {callOf("observe", `"arguments":{"a":`+deep+`},`), false, false},
	} {
		w := newWays(t, leanSubject(nil), func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.hurried {
					ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
					defer cancel()
					r = r.WithContext(ctx)
				}
				h.ServeHTTP(w, r)
			})
		})
		w.requireAlike(t, c.post)
		require.Equal(t, c.lean, w.isLean(c.post), c.headers)
	}
}

// Each request asks once for its server, also when go-sdk's HTTP layer serves it. What is
// known of one server says nothing about another.
func TestGetServerIsAskedOnce(t *testing.T) {
	asked := 0
	h := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server {
		asked++
		return leanSubject(nil)
	}, nil))(t)
	for i, params := range []string{``, `"arguments":{"a":1},`, `"arguments":{"a":1},`} {
		require.Equal(t, http.StatusOK, serve(h, callOf("observe", params)).status)
		require.Equal(t, i+1, asked)
	}
	require.Zero(t, mcphttp.LeanCalls(h))
	require.Equal(t, http.StatusBadRequest, newWays(t, nil, plainly).requireAlike(t, callOf("observe", ``)).status, "no server")
}

// Middleware that answers in a tool's place makes its calls go through go-sdk until the tool
// is entered again. A refusal says nothing about who answers to a name.
func TestMiddlewareThatAnswersForATool(t *testing.T) {
	server := rawServer(ran)
	var answer func() (mcp.Result, error)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if answer != nil {
				return answer()
			}
			return next(ctx, method, req)
		}
	})
	w, call := newWays(t, server, plainly), callOf("tool", `"arguments":{"a":1},`)
	w.isLean(call) // the first request shows the server
	refuses := func() (mcp.Result, error) { return nil, errors.New("no") }
	fails := func() (mcp.Result, error) { return &mcp.CallToolResult{IsError: true}, nil }
	answers := func() (mcp.Result, error) { return &mcp.CallToolResult{}, nil }
	lean := []bool{true, true, true, true, true, false, false, true} // the fifth shows who answers, the seventh enters the tool
	for i, next := range []func() (mcp.Result, error){nil, refuses, fails, nil, answers, answers, nil, nil} {
		answer = next
		require.Equal(t, lean[i], w.isLean(call), i)
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

var leanTexts = []mcp.Content{&mcp.TextContent{Text: "<é\u2028>"}, &mcp.TextContent{}}

// results are what handlers and middleware may answer with; nil for a method of go-sdk.
var results = map[string]func() (mcp.Result, error){
	"a tool's result": func() (mcp.Result, error) { return &mcp.CallToolResult{Content: []mcp.Content{}}, nil },
	"texts and an output": func() (mcp.Result, error) {
		return &mcp.CallToolResult{Content: leanTexts, StructuredContent: json.RawMessage(`{"a":" \" <"}`)}, nil
	},
	"an encoded output": func() (mcp.Result, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":" \"\\"}`), IsError: true}, nil
	},
	"an output with space": func() (mcp.Result, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage("{\"a\": 1,\n\t\"b\":2}")}, nil
	},
	"no content": func() (mcp.Result, error) { return &mcp.CallToolResult{}, nil },
	"other content": func() (mcp.Result, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "a/b"}}}, nil
	},
	"annotated content": func() (mcp.Result, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x", Annotations: &mcp.Annotations{Priority: 1}}}}, nil
	},
	"metadata": func() (mcp.Result, error) { return &mcp.CallToolResult{Meta: mcp.Meta{"a": "<b>"}}, nil },
	"another server's name": func() (mcp.Result, error) {
		return &mcp.CallToolResult{Meta: mcp.Meta{mcp.MetaKeyServerInfo: "other"}}, nil
	},
	"questions": func() (mcp.Result, error) {
		return asking(mcp.ElicitParams{Mode: "form", Message: "<q>", RequestedSchema: json.RawMessage(`{"type":"object"}`)}), nil
	},
	"questions with a schema": func() (mcp.Result, error) {
		return asking(mcp.ElicitParams{Mode: "form", RequestedSchema: map[string]any{"type": "object"}}), nil
	},
	"a visit": func() (mcp.Result, error) {
		return asking(mcp.ElicitParams{Mode: "url", URL: "https://example.com", ElicitationID: "e"}), nil
	},
	"a result of its own":     func() (mcp.Result, error) { return &hits{Hits: []string{"<é\u2028>"}}, nil },
	"another method's":        func() (mcp.Result, error) { return &mcp.ReadResourceResult{}, nil },
	"a list":                  func() (mcp.Result, error) { return &mcp.ListToolsResult{Tools: []*mcp.Tool{}, NextCursor: "x"}, nil },
	"a result around another": func() (mcp.Result, error) { return &around{More: "x"}, nil },
	"an error":                func() (mcp.Result, error) { return nil, errors.New("<no>") },
	"both":                    func() (mcp.Result, error) { return &mcp.CallToolResult{}, errors.New("no") },
	"an error with data": func() (mcp.Result, error) {
		return nil, &jsonrpc.Error{Code: -31000, Message: "no", Data: []byte(`{"a":1}`)}
	},
	"a wrapped error": func() (mcp.Result, error) {
		return nil, fmt.Errorf("failed: %w", &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such <city>"})
	},
	"ping":    nil,
	"no/such": nil,
}

// Whatever handlers and middleware answer with, on servers of any name and version, both ways
// complete and encode it as go-sdk's session does.
func TestResultsAreCompletedAlike(t *testing.T) {
	me := &mcp.Implementation{Name: "<server>", Title: "é", Version: "1", WebsiteURL: "https://example.com/?a&b", Icons: []mcp.Icon{{Source: "data:,x", Sizes: []string{"any"}}}}
	for versions, leans := range map[string]bool{"": true, "2026-07-28": true, "2025-11-25": false} {
		opts := &mcp.ServerOptions{}
		if versions != "" {
			opts.SupportedProtocolVersions = []string{versions}
		}
		for explanation, answer := range results {
			server := mcp.NewServer(me, opts)
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
					if answer != nil {
						return answer()
					}
					return next(ctx, explanation, &mcp.ServerRequest[*mcp.PingParams]{Session: req.GetSession().(*mcp.ServerSession)})
				}
			})
			w := newWays(t, server, plainly)
			for range 2 {
				w.requireAlike(t, callOf("tool", ``))
			}
			require.Equal(t, leans, mcphttp.LeanCalls(w.handler) == 1, "%s, %s", explanation, versions)
		}
	}
}

func asking(q mcp.ElicitParams) *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: "s<", InputRequests: mcp.InputRequestMap{"b": &q, "a": &q}}
}

// A list is encoded once, until it changes, and is always the one that go-sdk would send.
func TestListsOfToolsAreAlike(t *testing.T) {
	hidden, encoded := "", map[string]int{}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
				kept := list.Tools[:0:0]
				for _, tool := range list.Tools {
					if tool.Name != hidden {
						kept = append(kept, tool)
					}
				}
				list.Tools = kept
			}
			return result, err
		}
	})
	w := newWays(t, server, plainly)
	page := func(cursor string) post {
		return modernPost("tools/list", "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s%s}}`, cursor, modernMeta))
	}
	w.requireAlike(t, page(""))
	asked := uint64(0)
	requireAlike := func() {
		for cursor, more := "", true; more; asked++ {
			res := w.requireAlike(t, page(cursor))
			var next string
			_, next, more = strings.Cut(res.body, `"nextCursor":"`)
			next, _, _ = strings.Cut(next, `"`)
			cursor = fmt.Sprintf(`"cursor":%q,`, next)
		}
	}
	for n := range 20 {
		schema := &countingSchema{encoded, fmt.Sprint(n)}
		rendezvous.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("tool%d", n%7), Description: fmt.Sprintf("é <%d>", n), InputSchema: schema}, ran)
		requireAlike()
		serve(w.lean, page(""))
		before := maps.Clone(encoded)
		serve(w.lean, page(""))
		asked += 2
		require.Equal(t, before, encoded, "it is known")
		hidden = fmt.Sprintf("tool%d", n%5)
		requireAlike()
		hidden = ""
	}
	server.RemoveTools("tool1", "tool3", "tool5")
	requireAlike()
	server.RemoveTools("tool0", "tool2", "tool4", "tool6")
	requireAlike()
	require.Equal(t, asked, mcphttp.LeanCalls(w.handler))
}

type countingSchema struct {
	encoded map[string]int
	name    string
}

func (s *countingSchema) MarshalJSON() ([]byte, error) {
	s.encoded[s.name]++
	return []byte(`{ "type": "object", "description": "<&>\u2028" }`), nil
}
