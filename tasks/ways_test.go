package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/stdio"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// dialogue is a call as its client sees it.
type dialogue struct {
	asked  []string // the questions of each round
	result string
}

// ways are those to be asked.
var ways = []string{"round trips", "legacy session", "task"}

var transports = []string{"memory", "HTTP lean", "HTTP stock", "WebSocket", "stdio"}

// dial connects a client by a transport.
func dial(t *testing.T, here *site, transport string, o *wire.Options) *wire.Client {
	t.Helper()
	ctx := context.Background()
	serveWeb := func(h http.Handler, err error) *httptest.Server {
		require.NoError(t, err)
		web := httptest.NewServer(h)
		t.Cleanup(web.Close)
		return web
	}
	server := func(*http.Request) *mcp.Server { return here.server }
	var c *wire.Client
	var err error
	switch transport {
	case "memory":
		c, err = wire.Connect(ctx, here.server, o)
	case "WebSocket":
		web := serveWeb(wstransport.NewHandler(server, nil))
		link, failed := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http"), nil)
		require.NoError(t, failed)
		c, err = wire.Dial(ctx, link, o)
	case "stdio":
		fromClient, in := io.Pipe()
		out, toClient := io.Pipe()
		link, failed := stdio.New(&stdio.Options{Reader: fromClient, Writer: toClient})
		require.NoError(t, failed)
		go func() { _ = here.server.Run(ctx, link) }()
		c, err = wire.Dial(ctx, &mcp.IOTransport{Reader: out, Writer: in}, o)
	default:
		web := serveWeb(mcphttp.NewHandler(server, &mcphttp.HandlerOptions{StockFront: transport == "HTTP stock"}))
		c, err = wire.DialHTTP(ctx, web.URL, web.Client(), o)
	}
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func script() wire.Answers {
	return wire.Answers{"seat": wire.Value("window"), "meal": wire.Value("fish")}
}

func play(t *testing.T, here *site, transport, way string) (d dialogue) {
	t.Helper()
	o := &wire.Options{Capabilities: wire.FormOnly, Answers: script(), TakesTasks: way == "task"}
	if way == "legacy session" {
		o.Version = wire.Legacy
	}
	c := dial(t, here, transport, o)
	for range 3 { // so that an address is known to the lean front
		refused, err := c.Send(context.Background(), wire.Request{Name: "none"})
		require.NoError(t, err)
		require.NotNil(t, refused.Error)
	}
	out, err := c.Call(context.Background(), "book", trip{"Lisbon"}, script())
	require.NoError(t, err)
	require.Equal(t, way == "task", c.Requests("tasks/update") > 0)
	for _, q := range out.Questions {
		var params struct {
			Meta map[string]any `json:"_meta"`
		}
		require.NoError(t, json.Unmarshal(q.Params, &params))
		d.asked = append(d.asked, fmt.Sprint(q.Message, params.Meta["example.org/icon"]))
	}
	d.result = canonical(t, out.Result)
	return d
}

// canonical is a result without what only a revision adds to it.
func canonical(t *testing.T, result json.RawMessage) string {
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(result, &members), string(result))
	delete(members, "resultType")
	delete(members, "_meta")
	b, err := json.Marshal(members)
	require.NoError(t, err)
	return string(b)
}

// The same handler is asked in three ways over each transport, with a store and without, and
// with a boundary on either side of the tasks or both: the same questions, the same result byte for
// byte, and each effect once.
func TestTheSameHandlerIsAskedInThreeWays(t *testing.T) {
	settings, cells := 0, 0
	for _, style := range styleNames {
		for _, stored := range []bool{false, true} {
			for _, bounded := range []string{"", before, after, both} {
				for _, transport := range transports {
					settings++
					if !tried(settings) {
						continue
					}
					var want *dialogue
					for _, way := range ways {
						cells++
						t.Run(fmt.Sprintf("%s/store=%t/boundary=%s/%s/%s", style, stored, bounded, transport, way), func(t *testing.T) {
							s := setting{style: style, policy: atOnce, boundary: bounded}
							if stored {
								s.records = store.NewMemory(nil)
							}
							here := newSite(t, s)
							d := play(t, here, transport, way)
							slices.Sort(d.asked)
							if want == nil {
								want = &d
							}
							require.Equal(t, *want, d)
							require.Equal(t, []string{"Which meal?plate", "Which seat?<nil>"}, d.asked)
							require.Equal(t, "hold ticket", here.did.all())
						})
					}
				}
			}
		}
	}
	require.Equal(t, len(styleNames)*2*4*len(transports), settings)
	t.Logf("%d cells", cells)
}

// Each round of a task passes a boundary that was there before the tasks, so that an error
// result has its hints and its report. One that came later knows nothing of the rounds.
func TestATaskPassesTheBoundary(t *testing.T) {
	decline := wire.Answers{"seat": wire.Decline}
	for when, alike := range map[string]string{before: before, after: "", both: before} {
		call := func(policy mrtr.TaskPolicy, bounded string, declared wire.Capabilities) string {
			here := newSite(t, setting{style: "journal", policy: policy, boundary: bounded})
			out, err := dial(t, here, "memory", &wire.Options{Capabilities: declared}).Call(context.Background(), "book", trip{"Lisbon"}, decline)
			require.NoError(t, err)
			return canonical(t, out.Result)
		}
		want := call(atOnce, alike, wire.FormOnly)
		c := connect(t, newSite(t, setting{style: "journal", policy: atOnce, boundary: when}).server)
		s := c.settle(c.call().TaskID)
		c.update(s.TaskID, map[string]any{"seat-1": map[string]any{"action": "decline"}})
		result := c.settle(s.TaskID).Result
		require.Equal(t, want, canonical(t, result), when)
		require.Contains(t, string(result), `"isError":true`)
		require.Equal(t, when != after, strings.Contains(string(result), boundary.MetaKey), "%s: %s", when, result)
		require.Equal(t, call(atOnce, before, wire.FormOnly), call(mrtr.TaskPolicy{Detached: true}, when, takesTasks), "%s: a call that may become a task, and does not", when)
	}
}

// The connection that a task was created over ends, while the task asks or works, and another
// one goes on with it.
func TestATaskOutlivesItsConnection(t *testing.T) {
	cells := 0
	for _, style := range styleNames {
		for _, transport := range transports {
			for _, m := range []moment{asksFirst, atWork} {
				cells++
				t.Run(fmt.Sprintf("%s/%s/%s", style, transport, m), func(t *testing.T) {
					here := newSite(t, setting{style: style, policy: atOnce})
					first := client{t, dial(t, here, transport, &wire.Options{Capabilities: takesTasks})}
					id, release := stands(t, first, here.did, m)
					require.NoError(t, first.Close())
					second := client{t, dial(t, here, transport, &wire.Options{Capabilities: takesTasks})}
					release()
					s := second.finish(id)
					require.Equal(t, "completed", s.Status, string(s.raw))
					require.Contains(t, string(s.Result), "to Lisbon: window, fish")
					require.Equal(t, "hold ticket", here.did.all())
				})
			}
		}
	}
	require.Equal(t, len(styleNames)*len(transports)*2, cells)
}

// Nobody may listen to tasks who does not declare that it takes them. For others a
// subscription leaves them out, over each transport.
func TestListeningToTasksIsForClientsThatTakeThem(t *testing.T) {
	cells := 0
	for _, transport := range transports[1:] { // in memory there are no bytes to read it from
		for explanation, test := range map[string]struct {
			capabilities wire.Capabilities
			named        any
			refused      bool
			version      string
		}{
			"not declared":              {wire.FormOnly, []string{"x"}, true, ""},
			"no tasks, not declared":    {wire.FormOnly, []string{}, true, ""},
			"nothing of the kind named": {wire.FormOnly, nil, false, ""},
			"declared":                  {takesTasks, []string{"x"}, false, ""},
			"legacy":                    {wire.FormOnly, []string{"x"}, false, wire.Legacy},
		} {
			cells++
			t.Run(transport+"/"+explanation, func(t *testing.T) {
				w := dial(t, newSite(t, setting{style: "native", policy: atOnce}), transport, &wire.Options{Capabilities: test.capabilities, Version: test.version})
				params := map[string]any{"notifications": map[string]any{"toolsListChanged": true, "taskIds": test.named}}
				if test.version == "" {
					params["_meta"] = w.Meta()
				}
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				call, err := w.Start(ctx, wire.Request{Method: "subscriptions/listen", Params: params})
				require.NoError(t, err)
				const acknowledged = "notifications/subscriptions/acknowledged"
				if !test.refused {
					require.Eventually(t, func() bool { return len(w.Notifications(acknowledged)) > 0 }, 30*time.Second, time.Millisecond)
					require.NotContains(t, string(w.Notifications(acknowledged)[0]), "taskIds")
					return
				}
				res, err := call.Wait(ctx)
				require.NoError(t, err)
				var failed *jsonrpc.Error
				require.ErrorAs(t, res.Error, &failed)
				require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, failed.Code)
				require.JSONEq(t, `{"requiredCapabilities":{"extensions":{"`+tasks.Extension+`":{}}}}`, string(failed.Data))
				require.Empty(t, w.Notifications(acknowledged))
			})
		}
	}
	require.Equal(t, 4*5, cells)
}

// A client that does not take tasks never gets one, and neither does any for a tool without
// a policy.
func TestOnlyAClientThatTakesTasksGetsOne(t *testing.T) {
	for name, test := range map[string]struct {
		capabilities wire.Capabilities
		version      string
		policy       mrtr.TaskPolicy
		task         bool
	}{
		"declared":             {takesTasks, "", atOnce, true},
		"not declared":         {wire.FormOnly, "", atOnce, false},
		"no policy":            {takesTasks, "", mrtr.TaskPolicy{}, false},
		"a policy to detach":   {takesTasks, "", mrtr.TaskPolicy{Detached: true}, false},
		"declared, but legacy": {takesTasks, wire.Legacy, atOnce, false},
	} {
		t.Run(name, func(t *testing.T) {
			here := newSite(t, setting{style: "native", policy: test.policy})
			c := dial(t, here, "memory", &wire.Options{Capabilities: test.capabilities, Version: test.version, Answers: script()})
			res, err := c.Exchange(context.Background(), wire.Request{Name: "book", Arguments: trip{"Lisbon"}})
			require.NoError(t, err)
			var s seen
			require.NoError(t, json.Unmarshal(res.Result, &s))
			require.Equal(t, test.task, s.TaskID != "")
			require.Equal(t, test.task, s.ResultType == "task")
		})
	}
}

func TestTheExtensionIsAnnouncedToModernClients(t *testing.T) {
	here := newSite(t, setting{style: "native", policy: atOnce})
	c := connect(t, here.server)
	for range 2 {
		var d struct {
			Capabilities struct{ Extensions map[string]any }
		}
		require.NoError(t, json.Unmarshal(c.must("server/discover", map[string]any{}).raw, &d))
		require.Equal(t, []string{tasks.Extension}, slices.Collect(maps.Keys(d.Capabilities.Extensions)))
	}
	legacy := dial(t, here, "memory", &wire.Options{Version: wire.Legacy})
	require.NotEmpty(t, legacy.Messages())
	for _, m := range legacy.Messages() {
		require.NotContains(t, string(m.JSON), tasks.Extension)
	}
}
