package mcphttp_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
)

var posts = flag.Int("posts", 3000, "how many generated requests TestBothWaysAnswerAlike sends")

// ways are a handler that takes the way past go-sdk's HTTP layer where it can, and
// one that never does, in front of the same server.
type ways struct {
	handler     *mcphttp.Handler
	lean, stock http.Handler
}

func newWays(t testing.TB, server *mcp.Server, wrap func(http.Handler) http.Handler) ways {
	t.Helper()
	make := func(stock bool) *mcphttp.Handler {
		h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock})
		require.NoError(t, err)
		return h
	}
	h := make(false)
	return ways{h, wrap(h), wrap(make(true))}
}

func serve(h http.Handler, p post) response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, p.request())
	return response{w.Code, w.Result().Header, w.Body.String()}
}

func (w ways) requireAlike(t *testing.T, p post) response {
	t.Helper()
	stock, lean := serve(w.stock, p), serve(w.lean, p)
	require.Equal(t, stock, lean, "%s\n%q", p.headers, p.body)
	return stock
}

func plainly(h http.Handler) http.Handler { return h }

// withToken has each request come from a user.
func withToken(h http.Handler) http.Handler {
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
	}
	authenticated := auth.RequireBearerToken(verify, nil)(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer token")
		authenticated.ServeHTTP(w, r)
	})
}

// Whichever way a request takes, the handler sees the same and so does the client:
// status, headers and body.
func TestBothWaysAnswerAlike(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{"without a token": plainly, "with a token": withToken} {
		t.Run(name, func(t *testing.T) {
			w := newWays(t, leanSubject(), wrap)
			g := newGenerator(uint64(len(name)))
			statuses := map[int]int{}
			for range *posts / 2 {
				p := g.post()
				statuses[w.requireAlike(t, p).status]++
			}
			taken := mcphttp.LeanCalls(w.handler)
			t.Logf("statuses %v, %d of %d past go-sdk's HTTP layer", statuses, taken, *posts/2)
			require.Greater(t, taken, uint64(*posts/2/5), "too few were lean for this to show anything")
			require.Greater(t, statuses[http.StatusBadRequest], *posts/2/10)
		})
	}
}

func FuzzBothWaysAnswerAlike(f *testing.F) {
	g := newGenerator(0)
	for range 200 {
		p := g.post()
		f.Add(p.headers, p.body)
	}
	w := newWays(f, leanSubject(), plainly)
	f.Fuzz(func(t *testing.T, headers, body string) {
		w.requireAlike(t, post{headers, body})
	})
}

func TestEveryUsualCallIsLean(t *testing.T) {
	for _, c := range []struct{ explanation, method, name, key, params string }{
		{"no arguments", "tools/call", "observe", "name", ``},
		{"arguments", "tools/call", "observe", "name", `"arguments":{"a":1,"b":{"c":["x",null,1.5]}},`},
		{"a null", "tools/call", "observe", "name", `"arguments":{"a":null},`},
		{"answers and a state", "tools/call", "trip", "name", `"arguments":{"who":"Ada"},"inputResponses":{"by":{"action":"accept","content":{"by":"train"}},"x":{"action":"decline"}},"requestState":"Rome",`},
		{"an unknown tool", "tools/call", "unknown", "name", ``},
		{"a prompt", "prompts/get", "observe", "name", `"arguments":{"a":"b"},`},
		{"a resource", "resources/read", "test://x", "uri", ``},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			w := newWays(t, leanSubject(), plainly)
			p := post{
				"Content-Type: application/json\nAccept: application/json, text/event-stream\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: " + c.method + "\nMcp-Name: " + c.name,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%q:%q,%s"_meta":{%s:"2026-07-28",%s:{"elicitation":{}}}}}`, c.method, c.key, c.name, c.params, versionMember, capabilitiesMember),
			}
			w.requireAlike(t, p)
			before := mcphttp.LeanCalls(w.handler)
			w.requireAlike(t, p)
			require.Equal(t, before+1, mcphttp.LeanCalls(w.handler))
		})
	}
}

// A tool that is replaced by one whose argument a header has to repeat is judged by
// its new schema after a second, however often it is called meanwhile.
func TestVerdictsAboutHeadersExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rawServer(nil)
		add := func(property string) {
			schema := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string"` + property + `}}}`)
			server.AddTool(&mcp.Tool{Name: "tool", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return say("ran")
			})
		}
		add("")
		w := newWays(t, server, plainly)
		headers := "Content-Type: application/json\nAccept: application/json, text/event-stream\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: tool\n"
		call := post{headers, strings.Replace(modernCall("1", ""), `"arguments":{}`, `"arguments":{"region":"eu"}`, 1)}
		for range 10 {
			require.Equal(t, http.StatusOK, serve(w.lean, call).status)
		}
		require.EqualValues(t, 9, mcphttp.LeanCalls(w.handler))

		add(`,"x-mcp-header":"Region"`)
		for range 99 {
			time.Sleep(10 * time.Millisecond)
			serve(w.lean, call)
		}
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, http.StatusBadRequest, serve(w.lean, call).status)
		w.requireAlike(t, call)
		call.headers += "Mcp-Param-Region: eu\n"
		require.Equal(t, http.StatusOK, serve(w.lean, call).status)
		w.requireAlike(t, call)
	})
}

// What one call was allowed says nothing about another argument, about the same one
// where it was null, or about another tool.
func TestVerdictsAboutHeadersAreNarrow(t *testing.T) {
	w := newWays(t, leanSubject(), plainly)
	to := func(tool, arguments string) post {
		return post{
			"Content-Type: application/json\nAccept: application/json, text/event-stream\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: " + tool,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s:"2026-07-28",%s:{}}}}`, tool, arguments, versionMember, capabilitiesMember),
		}
	}
	allowed := []post{to("observe", `{"region":"eu","deep":{"zone":3}}`)}
	for _, arguments := range []string{`{"region":null}`, `{"region":"eu","region":null}`, `{"n":3}`, `{"deep":{"region":"eu"}}`} {
		allowed = append(allowed, to("bound", arguments))
	}
	for _, arguments := range []string{
		`{"deep":{}}`, `{"deep":{"zone":null}}`, `{"deep":{"zone":3,"zone":null}}`, `{"deep":{"zone":3},"deep":{"x":1}}`,
		`{"deep":{"zone":3},"deep":null}`, `{"deep":[{"zone":3}]}`, `{"zone":3}`, `{"deep":{"deep":{"zone":3}}}`,
	} {
		allowed = append(allowed, to("nested", arguments))
	}
	for range 2 {
		for _, p := range allowed {
			require.Equal(t, http.StatusOK, serve(w.lean, p).status, p.body)
		}
	}
	require.Greater(t, mcphttp.LeanCalls(w.handler), uint64(len(allowed)/2))
	for _, refused := range []post{
		to("bound", `{"region":"eu"}`), to("bound", `{"n":3,"region":"eu"}`), to("bound", `{"region":null,"region":"eu"}`),
		to("nested", `{"deep":{"zone":3}}`), to("nested", `{"deep":{"zone":null,"zone":3}}`), to("nested", `{"deep":{},"deep":{"zone":3}}`),
	} {
		require.Equal(t, http.StatusBadRequest, serve(w.lean, refused).status, refused.body)
		w.requireAlike(t, refused)
	}
}
