package mcphttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

var posts = flag.Int("posts", usualPosts(), "how many generated requests TestBothWaysAnswerAlike and TestBothWaysEndAlike send, the latter a quarter of them")

// usualPosts is six times as many in CI.
func usualPosts() int {
	if os.Getenv("MRTR_CI") == "1" {
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
	t.Helper()
	make := func(stock bool) *mcphttp.Handler {
		h := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock}))(t)
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
	if length, ok := lean.header["Content-Length"]; ok { // it has the answer at once
		require.Equal(t, []string{strconv.Itoa(len(lean.body))}, length, "%s\n%q", p.headers, p.body)
		require.NotContains(t, stock.header, "Content-Length")
		delete(lean.header, "Content-Length")
	}
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
			synctest.Test(t, func(t *testing.T) { // in which as many fall into a second, the front's memory, each time
				w := newWays(t, leanSubject(), wrap)
				g := newGenerator(uint64(len(name)))
				statuses := map[int]int{}
				count := *posts * 3 / 8
				for range count {
					p := g.post()
					statuses[w.requireAlike(t, p).status]++
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

// Whatever becomes of a request while it is served, its client and its handler cannot tell
// which way it took, except for the named reasons.
func TestBothWaysEndAlike(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{"without a token": plainly, "with a token": withToken} {
		t.Run(name, func(t *testing.T) {
			g := newGenerator(uint64(len(name)))
			count := max(*posts/8, 200) // fewer come to fewer ends
			ends, taken, reasons := map[string]int{}, map[string]int{}, map[string]int{}
			for i := range count {
				p, f := g.usualPost(), g.fate(intents[i%len(intents)])
				stock, lean := f.play(t, p, true, wrap), f.play(t, p, false, wrap)
				for _, end := range lean.ends(f) {
					ends[end]++
					if lean.Received[len(lean.Received)-1].lean {
						taken[end]++
					}
				}
				stockText, leanText, why := settle(t, f, stock, lean)
				require.Equal(t, stockText, leanText, "%+v\n%s\n%q", f, p.headers, p.body)
				for _, reason := range why {
					reasons[reason]++
				}
			}
			t.Logf("%d requests, of which past go-sdk's HTTP layer:", count)
			for _, end := range allEnds {
				t.Logf("%5d of %5d %s", taken[end], ends[end], end)
				require.NotZero(t, ends[end], end)
				if end != cameTooLate {
					require.NotZero(t, taken[end], end)
				}
			}
			for _, reason := range allReasons {
				t.Logf("%5d differ: %s", reasons[reason], reason)
			}
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

// callOf is a call of a tool of [leanSubject].
func callOf(tool, params string) post {
	return post{
		"Content-Type: application/json\nAccept: application/json, text/event-stream\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: " + tool + "\n",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,%s"_meta":{%s:"2026-07-28",%s:{"elicitation":{}}}}}`, tool, params, versionMember, capabilitiesMember),
	}
}

// as is a call that became one of another method.
func (p post) as(method, key, name string) post {
	p.headers = strings.NewReplacer("tools/call", method, "observe", name).Replace(p.headers)
	p.body = strings.NewReplacer("tools/call", method, `"name":"observe"`, `"`+key+`":"`+name+`"`).Replace(p.body)
	return p
}

func (p post) with(header string) post {
	p.headers += header + "\n"
	return p
}

func TestUsualCallsAreLean(t *testing.T) {
	for explanation, p := range map[string]post{
		"no arguments":        callOf("observe", ``),
		"arguments":           callOf("observe", `"arguments":{"a":1,"b":{"c":["x",null,1.5]}},`),
		"white space":         callOf("observe", `"arguments" : { "a" : 1 } ,`),
		"a null":              callOf("observe", `"arguments":{"a":null},`),
		"answers and a state": callOf("trip", `"arguments":{"who":"Ada"},"inputResponses":{"by":{"action":"accept","content":{"by":"train"}},"x":{"action":"decline"}},"requestState":"Rome",`),
		"an unknown tool":     callOf("unknown", ``),
		"a prompt":            callOf("observe", `"arguments":{"a":"b"},`).as("prompts/get", "name", "observe"),
		"a resource":          callOf("observe", ``).as("resources/read", "uri", "test://x"),
		"a name in base64":    {strings.Replace(callOf("observe", ``).headers, "observe", "=?base64?b2JzZXJ2ZQ==?=", 1), callOf("observe", ``).body},
	} {
		t.Run(explanation, func(t *testing.T) {
			w := newWays(t, leanSubject(), plainly)
			w.requireAlike(t, p)
			before := mcphttp.LeanCalls(w.handler)
			w.requireAlike(t, p)
			require.Equal(t, before+1, mcphttp.LeanCalls(w.handler))
		})
	}
}

// A request goes to go-sdk unless it is certain to pass, or where it would take long to look at.
func TestUnusualCallsAreNotLean(t *testing.T) {
	many := strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(&many, `"name%d":{},`, i)
	}
	for explanation, p := range map[string]post{
		"a header for an argument":         callOf("observe", ``).with("Mcp-Param-Region: eu"),
		"another method":                   callOf("observe", ``).as("tools/list", "name", "observe"),
		"a response that is a model's":     callOf("observe", `"inputResponses":{"a":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}},`),
		"a number with an exponent":        callOf("observe", `"arguments":[1e2],`),
		"a member twice":                   callOf("observe", `"requestState":"a","requestState":"b",`),
		"an escape in a name":              callOf("observe", `"request\u0053tate":"a",`),
		"a body of two values":             {callOf("observe", ``).headers, callOf("observe", ``).body + "{}"},
		"names under a name of great size": callOf("observe", `"arguments":{"`+strings.Repeat("x", 1<<20)+`":{`+many.String()+`"z":1}},`),
		"great depth":                      callOf("observe", `"arguments":[`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`],`),
	} {
		t.Run(explanation, func(t *testing.T) {
			w := newWays(t, leanSubject(), plainly)
			for range 2 {
				w.requireAlike(t, p)
			}
			require.Zero(t, mcphttp.LeanCalls(w.handler))
		})
	}
	t.Run("a deadline", func(t *testing.T) {
		w := newWays(t, leanSubject(), func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
				defer cancel()
				h.ServeHTTP(w, r.WithContext(ctx))
			})
		})
		w.requireAlike(t, callOf("observe", ``))
		require.Zero(t, mcphttp.LeanCalls(w.handler))
	})
}

// Each request asks once for its server, also when go-sdk's HTTP layer serves it.
func TestGetServerIsAskedOnce(t *testing.T) {
	asked := 0
	h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server {
		asked++
		return leanSubject()
	}, nil)
	require.NoError(t, err)
	for i, params := range []string{``, `"arguments":{"a":1},`, `"arguments":{"a":1},`} {
		require.Equal(t, http.StatusOK, serve(h, callOf("observe", params)).status)
		require.Equal(t, i+1, asked)
	}
	require.Zero(t, mcphttp.LeanCalls(h), "what is known of one server says nothing about another")
}

func TestNoServerIsRefusedAlike(t *testing.T) {
	w := newWays(t, nil, plainly)
	require.Equal(t, http.StatusBadRequest, w.requireAlike(t, callOf("observe", ``)).status)
}

// A notification reaches the client while its call is running.
func TestNotificationsStream(t *testing.T) {
	for _, stock := range []bool{false, true} {
		notified := make(chan struct{})
		server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: 1})
			select {
			case <-notified:
				return say("over")
			case <-time.After(30 * time.Second):
				return say("the client heard nothing")
			}
		})
		web := httptest.NewServer(known(t, server, stock))
		res := openStream(t, http.MethodPost, web.URL, callModern, modernHeaders)
		lines := bufio.NewScanner(res.Body)
		var events []string
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if events = append(events, data); len(events) == 1 {
					close(notified)
				}
			}
		}
		require.NoError(t, lines.Err())
		require.NoError(t, res.Body.Close())
		require.Len(t, events, 2)
		require.Contains(t, events[0], `"notifications/progress"`)
		require.Contains(t, events[1], `"text":"over"`)
		web.Close()
	}
}

// A handler whose request ended is told why.
func TestTheEndOfARequestHasItsCause(t *testing.T) {
	for _, stock := range []bool{false, true} {
		why := errors.New("the proxy went away")
		began, ended := make(chan struct{}), make(chan error, 1)
		server := rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(began)
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Second):
			}
			ended <- context.Cause(ctx)
			return say("over")
		})
		h := known(t, server, stock)
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan struct{})
		go func() {
			defer close(served)
			h.ServeHTTP(httptest.NewRecorder(), callOf("tool", ``).request().WithContext(ctx))
		}()
		receive(t, began, "the call did not run")
		cancel(why)
		require.ErrorIs(t, <-ended, why)
		<-served
	}
}

// A tool that takes another's name is judged by its own schema, whoever added it. One that
// go-sdk's own AddTool added is noticed by the first call that it answers.
func TestAToolThatIsReplacedIsJudgedByItsSchema(t *testing.T) {
	add := map[string]func(*mcp.Server, *mcp.Tool, mcp.ToolHandler){"ours": mrtr.AddRawTool, "go-sdk's": (*mcp.Server).AddTool}
	for by, replace := range add {
		t.Run(by, func(t *testing.T) {
			server := rawServer(nil)
			tool := func(property string) *mcp.Tool {
				return &mcp.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string"` + property + `}}}`)}
			}
			ran := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("ran") }
			mrtr.AddRawTool(server, tool(""), ran)
			w := newWays(t, server, plainly)
			call := callOf("tool", `"arguments":{"region":"eu"},`)
			for range 10 {
				require.Equal(t, http.StatusOK, serve(w.lean, call).status)
			}
			require.EqualValues(t, 9, mcphttp.LeanCalls(w.handler))

			replace(server, tool(`,"x-mcp-header":"Region"`), ran)
			if by != "ours" {
				require.Equal(t, http.StatusOK, serve(w.lean, call).status)
			}
			for range 3 {
				require.Equal(t, http.StatusBadRequest, serve(w.lean, call).status)
				w.requireAlike(t, call)
			}
			named := call.with("Mcp-Param-Region: eu")
			require.Equal(t, http.StatusOK, serve(w.lean, named).status)
			w.requireAlike(t, named)

			mrtr.AddRawTool(server, tool(""), ran)
			before := mcphttp.LeanCalls(w.handler)
			require.Equal(t, http.StatusOK, serve(w.lean, call).status)
			require.Equal(t, before+1, mcphttp.LeanCalls(w.handler))
		})
	}
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
	h := known(t, server, false)
	call := callOf("tool", `"arguments":{"a":1},`)
	isLean := func() bool {
		before := mcphttp.LeanCalls(h)
		serve(h, call)
		return mcphttp.LeanCalls(h) > before
	}
	require.True(t, isLean())
	answer = func() (mcp.Result, error) { return nil, errors.New("no") }
	require.True(t, isLean())
	answer = func() (mcp.Result, error) { return &mcp.CallToolResult{IsError: true}, nil }
	require.True(t, isLean())
	answer = nil
	require.True(t, isLean(), "refusals changed nothing")
	answer = func() (mcp.Result, error) { return &mcp.CallToolResult{}, nil }
	require.True(t, isLean())
	require.False(t, isLean(), "somebody answered in its place")
	answer = nil
	require.False(t, isLean())
	require.True(t, isLean(), "it was entered again")
}

// Calls of a tool that binds an argument are judged by go-sdk, whatever was allowed before.
func TestBoundArgumentsAreAlwaysJudged(t *testing.T) {
	w := newWays(t, leanSubject(), plainly)
	to := func(tool, arguments string) post { return callOf(tool, `"arguments":`+arguments+`,`) }
	allowed := []post{to("observe", `{"region":"eu","deep":{"zone":3}}`)}
	for _, arguments := range []string{`{"region":null}`, `{"n":3}`, `{"deep":{"region":"eu"}}`} {
		allowed = append(allowed, to("bound", arguments))
	}
	for _, arguments := range []string{
		`{"deep":{}}`, `{"deep":{"zone":null}}`, `{"deep":[{"zone":3}]}`, `{"zone":3}`, `{"deep":{"deep":{"zone":3}}}`,
	} {
		allowed = append(allowed, to("nested", arguments))
	}
	for range 2 {
		for _, p := range allowed {
			require.Equal(t, http.StatusOK, serve(w.lean, p).status, p.body)
		}
	}
	require.EqualValues(t, 1, mcphttp.LeanCalls(w.handler), "the second call of observe")
	for _, refused := range []post{
		to("bound", `{"region":"eu"}`), to("bound", `{"n":3,"region":"eu"}`), to("nested", `{"deep":{"zone":3}}`), to("spelled", `{"region":"eu"}`),
	} {
		require.Equal(t, http.StatusBadRequest, serve(w.lean, refused).status, refused.body)
		w.requireAlike(t, refused)
	}
}
