package boundary_test

import (
	"cmp"
	"context"
	"errors"
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
	return l.of[handler] >= o.MaxAbandoned || full && l.ofBy[[2]string{handler, client}] > 0 || l.by[client]/4 >= o.MaxAbandonedPerClient
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
		addRaw(s, name, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			hang(ctx)
			return text("late"), nil
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
	around(s, func(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && strings.HasPrefix(call.Params.Name, "made up") {
			hang(ctx)
		}
		return next(ctx, method, req)
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
	sockets := must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t)
	web := httptest.NewServer(sockets)
	defer web.Close()
	for range 2 {
		link := must(wstransport.Dial(t.Context(), strings.Replace(web.URL, "http", "ws", 1), nil))(t)
		client := must(wire.Dial(t.Context(), link, nil))(t)
		defer client.Close()
		for _, words := range []string{"did not finish within 1ms", "was not run"} {
			require.Contains(t, string(say(t, client, wire.Request{Name: "a", Arguments: struct{}{}}).Result), words)
		}
	}
	close(let)
}

// Handlers that ignore their context are left behind when their calls end, by a deadline or by
// the client. A handler, or a client, that left too many is refused, and nobody else. Made-up
// names of tools count as one. When the handlers return, there is room again, their ends are
// logged, and their late results reach nobody.
func TestHandlersThatHangAreRefused(t *testing.T) {
	for _, o := range []boundary.Options{{MaxAbandoned: 4, MaxAbandonedPerClient: 4}, {MaxAbandoned: 30, MaxAbandonedPerClient: 2}, {MaxAbandoned: 3, MaxAbandonedPerClient: math.MaxInt}, {MaxAbandoned: 3}} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			var unheard atomic.Int32
			let := make(chan struct{})
			release := sync.OnceFunc(func() { close(let) })
			s := hangingServer(let, &unheard)
			o.Logger, o.Deadline = log.logger(), time.Minute
			clients := map[string]*wire.Client{"x": speak(t, judge.Modern, s, &o), "y": speak(t, judge.Modern, s, nil), "z": speak(t, judge.Modern, s, nil)}
			if o.MaxAbandonedPerClient == 0 {
				o.MaxAbandonedPerClient = o.MaxAbandoned // less than 16
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
				require.NotContains(t, string(say(t, clients[pick(m, "y", "z")], wire.Request{Name: "healthy"}).Result), "isError", "a tool that does not hang")
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
				require.Contains(t, string(say(t, client, wire.Request{Name: "a"}).Result), "late", "there is room again")
			}
		})
	}
}

// A legacy client answers inside the request, so its call may last as long as people
// take; a modern call may not.
func TestDeadlines(t *testing.T) {
	tool, prompt, resource := wire.Request{Method: "tools/call", Name: "healthy"}, wire.Request{Method: "prompts/get", Name: "p"}, wire.Request{Method: "resources/read", Name: "test://r"}
	minute := func(name string) map[string]time.Duration { return map[string]time.Duration{name: time.Minute} }
	for _, tc := range []struct {
		explanation string
		opts        boundary.Options
		era         judge.Era
		request     wire.Request
		takes       time.Duration
		want        time.Duration // 0: the call is not cut off
	}{
		{"an old client's user has an hour by default", boundary.Options{}, judge.Legacy, tool, 59 * time.Minute, 0},
		{"and no more", boundary.Options{}, judge.Legacy, tool, 61 * time.Minute, time.Hour},
		{"a modern tool has five minutes", boundary.Options{}, judge.Modern, tool, 6 * time.Minute, 5 * time.Minute},
		{"and uses them", boundary.Options{}, judge.Modern, tool, 4 * time.Minute, 0},
		{"each has its option", boundary.Options{Deadline: time.Hour, LegacyDeadline: time.Second}, judge.Legacy, tool, time.Minute, time.Second},
		{"of which the other is not touched", boundary.Options{Deadline: time.Second, LegacyDeadline: time.Hour}, judge.Modern, tool, time.Minute, time.Second},
		{"the longest is as good as none", boundary.Options{LegacyDeadline: math.MaxInt64}, judge.Legacy, tool, 48 * time.Hour, 0},
		{"the tool's own counts for both", boundary.Options{ToolDeadlines: minute("healthy")}, judge.Legacy, tool, time.Hour, time.Minute},
		{"the tool's own counts for both", boundary.Options{ToolDeadlines: minute("healthy")}, judge.Modern, tool, time.Hour, time.Minute},
		{"a prompt's own", boundary.Options{PromptDeadlines: minute("p")}, judge.Modern, prompt, time.Hour, time.Minute},
		{"a resource's own", boundary.Options{ResourceDeadlines: minute("test://r")}, judge.Modern, resource, time.Hour, time.Minute},
		{"a subscription has none", boundary.Options{}, judge.Modern, wire.Request{Method: "subscriptions/listen"}, 48 * time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := everything(t, nil)
			around(s, func(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
				if method != tc.request.Method {
					return next(ctx, method, req)
				}
				select {
				case <-time.After(tc.takes):
				case <-ctx.Done():
				}
				return nil, cmp.Or(ctx.Err(), errors.New("in time"))
			})
			tc.opts.Logger = silent
			client := speak(t, tc.era, s, &tc.opts)
			begun := time.Now()
			res := say(t, client, tc.request)
			require.Equal(t, tc.want == 0, strings.Contains(string(res.Result)+fmt.Sprint(res.Error), "in time"), tc.explanation)
			require.InDelta(t, cmp.Or(tc.want, tc.takes), time.Since(begun), float64(time.Second), tc.explanation)
		})
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
		listing(s, func(req *mcp.ListToolsRequest, list *mcp.ListToolsResult) (*mcp.ListToolsResult, error) {
			switch req.ClientInfo().Name {
			case "strict":
				list.Tools = []*mcp.Tool{strict}
			case "hidden":
				list.Tools = []*mcp.Tool{}
			}
			return list, nil
		})
		require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deny: deny}))
		const tries = 30
		var all sync.WaitGroup
		for _, name := range []string{"lax", "strict", "hidden"} {
			session := dialAs(t, s, name, "", nil)
			all.Go(func() {
				for range tries {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
					if unknown := name == "hidden" && deny != nil; unknown != (err != nil) || !unknown && res.IsError != (name == "strict") {
						t.Errorf("%s: %v %v", name, res, err)
					}
				}
			})
		}
		all.Wait()
		require.EqualValues(t, map[bool]int{true: 2 * tries, false: tries}[deny == nil], ran.Load())
	}
}
