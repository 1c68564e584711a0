package boundary_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// A leaving counts the handlers that were left behind, by the rules in the documentation of
// the options.
type leaving struct {
	total   int
	of, by  map[string]int    // by handler, and by client
	ofBy    map[[2]string]int // of a handler by a client
	refused int
}

// refuses reports whether the client's next call of the handler must be refused.
func (l *leaving) refuses(o *boundary.Options, handler, client string) bool {
	full := l.total >= o.MaxAbandoned || l.by[client] >= o.MaxAbandonedPerClient
	return l.of[handler] >= o.MaxAbandoned || full && l.ofBy[[2]string{handler, client}] > 0 || l.by[client] >= 4*o.MaxAbandonedPerClient
}

func (l *leaving) add(n int, handler, client string) {
	l.total += n
	l.of[handler] += n
	l.by[client] += n
	l.ofBy[[2]string{handler, client}] += n
}

// hangingServer has handlers that hang until let is closed, and count those of them that were
// cancelled by then, and a healthy one.
func hangingServer(let <-chan struct{}, cancelled *atomic.Int32) *mcp.Server {
	hang := func(ctx context.Context) {
		<-let
		if ctx.Err() != nil {
			cancelled.Add(1)
		}
	}
	s := newServer()
	for _, name := range []string{"a", "b"} {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
			hang(ctx)
			return text("late"), nil, nil
		})
	}
	mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, outputs("fine"))
	s.AddPrompt(&mcp.Prompt{Name: "a"}, func(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		hang(ctx)
		return &mcp.GetPromptResult{}, nil
	})
	s.AddResource(&mcp.Resource{Name: "a", URI: "t://a"}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		hang(ctx)
		return &mcp.ReadResourceResult{}, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && strings.HasPrefix(call.Params.Name, "made up") {
				hang(ctx)
			}
			return next(ctx, method, req)
		}
	})
	return s
}

// callHanging makes a call that must be refused or hang until its deadline, if its client does not
// give up before.
func callHanging(t *testing.T, client *wire.Client, request wire.Request, hurry, refused bool, name string) {
	patience, words := time.Hour, " did not finish within 1m0s."
	if hurry {
		patience = time.Second
	}
	if refused {
		words = " was not run"
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun := time.Now()
	res, err := client.Exchange(ctx, request)
	if err != nil {
		require.True(t, hurry && !refused, name)
		time.Sleep(time.Second)
		return
	}
	require.Contains(t, string(res.Result)+fmt.Sprint(res.Error), words, name)
	require.Less(t, time.Since(begun), 2*time.Minute)
	require.Equal(t, request.Method == "tools/call" && !refused, strings.Contains(string(res.Result), `"effect":"unknown"`), "%s: %s", name, res.Result)
}

// Each client of a socket is one, also if nobody knows who it is: what one leaves behind does not
// shut out the others.
func TestEachSocketIsAClient(t *testing.T) {
	let := make(chan struct{})
	server := hangingServer(let, new(atomic.Int32))
	require.NoError(t, boundary.Install(server, &boundary.Options{Logger: silent, Deadline: time.Millisecond, MaxAbandonedPerClient: 1}))
	sockets, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)
	web := httptest.NewServer(sockets)
	defer web.Close()
	for range 2 {
		link, err := wstransport.Dial(t.Context(), strings.Replace(web.URL, "http", "ws", 1), nil)
		require.NoError(t, err)
		client, err := wire.Dial(t.Context(), link, nil)
		require.NoError(t, err)
		defer client.Close()
		for _, words := range []string{"did not finish within 1ms", "was not run"} {
			reply, err := client.Send(t.Context(), wire.Request{Name: "a", Arguments: struct{}{}})
			require.NoError(t, err)
			require.Contains(t, reply.Text, words)
		}
	}
	close(let)
}

// Handlers that ignore their context are left behind when their calls end, by a deadline or by
// the client. A handler, or a client, that left too many is refused, and nobody else. Made-up
// names of tools count as one. When the handlers return, there is room again, their ends are
// logged, and their late results reach nobody.
func TestHandlersThatHangAreRefused(t *testing.T) {
	for _, o := range []boundary.Options{{MaxAbandoned: 4, MaxAbandonedPerClient: 4}, {MaxAbandoned: 30, MaxAbandonedPerClient: 2}, {MaxAbandoned: 3}} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			var unheard atomic.Int32
			let := make(chan struct{})
			release := sync.OnceFunc(func() { close(let) })
			s := hangingServer(let, &unheard)
			o.Logger, o.Deadline = log.logger(), time.Minute
			require.NoError(t, boundary.Install(s, &o))
			if o.MaxAbandonedPerClient == 0 {
				o.MaxAbandonedPerClient = o.MaxAbandoned // less than 16
			}
			clients := map[string]*wire.Client{}
			for _, name := range []string{"x", "y", "z"} {
				client := speak(t, judge.Modern, s)
				clients[name] = client
			}
			defer release()
			m, left := newMaker(1, nil), &leaving{of: map[string]int{}, by: map[string]int{}, ofBy: map[[2]string]int{}}
			for i := range 150 {
				who, handler := pick(m, "x", "x", "y", "z"), pick(m, "tool a", "tool b", "tool", "prompt a", "resource t://a")
				kind, name, _ := strings.Cut(handler, " ")
				request := wire.Request{Method: map[string]string{"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read"}[kind], Name: name}
				if name == "" {
					request.Name = fmt.Sprint("made up ", i)
				}
				want := left.refuses(&o, handler, who)
				if want {
					left.refused++
				} else {
					left.add(1, handler, who)
				}
				callHanging(t, clients[who], request, m.oneIn(3), want, fmt.Sprintf("call %d: %s by %s", i, handler, who))
				res, err := clients[pick(m, "y", "z")].Exchange(t.Context(), wire.Request{Name: "healthy"})
				require.NoError(t, err)
				require.NotContains(t, string(res.Result), "isError", "a tool that does not hang")
			}
			require.NotZero(t, left.refused)
			ended := 0
			release()
			synctest.Wait()
			for _, r := range log.take(t) {
				if strings.HasPrefix(r["msg"].(string), "abandoned ") {
					ended++
					require.Equal(t, "WARN", r["level"])
				}
			}
			require.Equal(t, left.total, ended)
			require.EqualValues(t, left.total, unheard.Load(), "the context of an abandoned handler is cancelled")
			for _, client := range clients {
				require.Contains(t, string(must(client.Exchange(t.Context(), wire.Request{Name: "a"}))(t).Result), "late", "there is room again")
			}
		})
	}
}

// A legacy client answers inside the request, so its call may last as long as people
// take; a modern call may not.
func TestDeadlines(t *testing.T) {
	const old, modern = "2025-11-25", "2026-07-28"
	for _, tc := range []struct {
		explanation string
		opts        boundary.Options
		version     string
		user        time.Duration // how long the user takes to answer
		want        time.Duration // 0: the call is not cut off
	}{
		{"an old client's user has an hour by default", boundary.Options{}, old, 59 * time.Minute, 0},
		{"and no more", boundary.Options{}, old, 61 * time.Minute, time.Hour},
		{"a modern tool has five minutes", boundary.Options{}, modern, 6 * time.Minute, 5 * time.Minute},
		{"and uses them", boundary.Options{}, modern, 4 * time.Minute, 0},
		{"each has its option", boundary.Options{Deadline: time.Hour, LegacyDeadline: time.Second}, old, time.Minute, time.Second},
		{"of which the other is not touched", boundary.Options{Deadline: time.Second, LegacyDeadline: time.Hour}, modern, time.Minute, time.Second},
		{"the longest is as good as none", boundary.Options{LegacyDeadline: math.MaxInt64}, old, 48 * time.Hour, 0},
		{"the tool's own counts for both", boundary.Options{ToolDeadlines: map[string]time.Duration{"asks": time.Minute}}, old, time.Hour, time.Minute},
		{"the tool's own counts for both", boundary.Options{ToolDeadlines: map[string]time.Duration{"asks": time.Minute}}, modern, time.Hour, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(ctx context.Context) {
				select {
				case <-time.After(tc.user):
				case <-ctx.Done():
				}
			}
			s := newServer()
			mcp.AddTool(s, &mcp.Tool{Name: "asks"}, func(ctx context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
				if tc.version == old {
					_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
					return text("answered"), nil, err
				}
				slow(ctx)
				return text("answered"), nil, ctx.Err()
			})
			tc.opts.Logger = silent
			require.NoError(t, boundary.Install(s, &tc.opts))
			session := dialAs(t, s, "c", tc.version, &mcp.ClientOptions{
				ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					slow(ctx)
					return &mcp.ElicitResult{Action: "accept"}, nil
				}})
			begun := time.Now()
			res, report := callTool(t, session, "asks", nil)
			require.Equal(t, tc.want == 0, report.Type != "timeout" && texts(res)[0] == "answered", tc.explanation)
			require.InDelta(t, cmp.Or(tc.want, tc.user), time.Since(begun), float64(time.Second), tc.explanation)
		})
	}
}

// forClient is middleware that changes the list of tools of one client.
func forClient(name string, change func(ctx context.Context, list *mcp.ListToolsResult)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := req.(*mcp.ListToolsRequest); ok && err == nil && list.ClientInfo() != nil && list.ClientInfo().Name == name {
				change(ctx, res.(*mcp.ListToolsResult))
			}
			return res, err
		}
	}
}

// Each client is judged by what it is shown itself, however their calls interleave: by its
// schema, and while a tier is denied a tool that it is not shown is unknown.
func TestAListServesItsOwnSessionAlone(t *testing.T) {
	for _, deny := range [][]boundary.Tier{nil, {boundary.Destructive}} {
		var ran atomic.Int32
		s := newServer()
		readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: &jsonschema.Schema{Type: "object"}, Annotations: readOnly}, makes(func() *mcp.CallToolResult { ran.Add(1); return text("fine") }))
		strict := &mcp.Tool{Name: "t", InputSchema: &jsonschema.Schema{Type: "object", Required: []string{"place"}}, Annotations: readOnly}
		s.AddReceivingMiddleware(forClient("strict", func(_ context.Context, list *mcp.ListToolsResult) { list.Tools = []*mcp.Tool{strict} }))
		s.AddReceivingMiddleware(forClient("hidden", func(_ context.Context, list *mcp.ListToolsResult) { list.Tools = []*mcp.Tool{} }))
		require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deny: deny}))
		const tries = 30
		var all sync.WaitGroup
		for _, name := range []string{"lax", "strict", "hidden"} {
			session := named(t, s, name)
			all.Go(func() {
				for range tries {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
					switch {
					case name == "hidden" && deny != nil:
						if err == nil {
							t.Errorf("the hidden tool is not unknown: %v", res)
						}
					case err != nil || res.IsError != (name == "strict"):
						t.Errorf("%s: %v %v", name, res, err)
					}
				}
			})
		}
		all.Wait()
		require.EqualValues(t, map[bool]int{true: 2 * tries, false: tries}[deny == nil], ran.Load())
	}
}
