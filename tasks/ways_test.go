package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// dialogue is a call as its client sees it.
type dialogue struct {
	asked  []string // the questions of each round
	result string
}

// ways are those to be asked.
var ways = []string{"round trips", "legacy session", "task"}

// dial connects a client by a transport.
func dial(t *testing.T, here *site, transport string, o *wire.Options) *wire.Client {
	t.Helper()
	if transport == "memory" {
		c, err := wire.Connect(context.Background(), here.server, o)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return here.server }, &mcphttp.HandlerOptions{StockFront: transport == "HTTP stock"})
	require.NoError(t, err)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	c, err := wire.DialHTTP(context.Background(), web.URL, web.Client(), o)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func script() wire.Answers {
	return wire.Answers{"seat": wire.Value("window"), "meal": wire.Value("fish")}
}

func play(t *testing.T, here *site, transport, way string) (d dialogue) {
	t.Helper()
	note := func(messages ...string) {
		d.asked = append(d.asked, strings.Join(slices.Sorted(slices.Values(messages)), " "))
	}
	if way != "task" {
		o := &wire.Options{Capabilities: wire.FormOnly, Answers: script()}
		if way == "legacy session" {
			o.Version = wire.Legacy
		}
		out, err := dial(t, here, transport, o).Call(context.Background(), "book", trip{"Lisbon"}, script())
		require.NoError(t, err)
		for _, q := range out.Questions {
			d.asked = append(d.asked, q.Message)
		}
		d.result = canonical(t, out.Result)
		return d
	}
	c := client{t, dial(t, here, transport, &wire.Options{Capabilities: takesTasks})}
	for range 3 { // so that an address is known to the lean front
		_, failed := c.send("tools/call", map[string]any{"name": "none"})
		require.NotNil(t, failed)
	}
	s := c.call()
	require.Equal(t, "task", s.ResultType, string(s.raw))
	used := map[string]bool{}
	id := s.TaskID
	for s = c.settle(id); s.Status == "input_required"; s = c.settle(id) {
		var messages []string
		for key, q := range s.InputRequests {
			require.False(t, used[key], "key %s is used twice", key)
			used[key] = true
			messages = append(messages, q.Params.Message)
		}
		note(messages...)
		c.answer(s)
	}
	require.Equal(t, "completed", s.Status, string(s.raw))
	d.result = canonical(t, s.Result)
	d.asked = strings.Split(strings.ReplaceAll(strings.Join(d.asked, "|"), "? ", "?|"), "|")
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

// The same handler is asked in three ways: the same questions, the same result byte for
// byte, and each effect once.
func TestTheSameHandlerIsAskedInThreeWays(t *testing.T) {
	cells := 0
	for _, style := range styleNames {
		for _, stored := range []bool{false, true} {
			for _, transport := range []string{"memory", "HTTP lean", "HTTP stock"} {
				var want *dialogue
				for _, way := range ways {
					cells++
					t.Run(fmt.Sprintf("%s/store=%t/%s/%s", style, stored, transport, way), func(t *testing.T) {
						s := setting{style: style, policy: atOnce}
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
						require.Equal(t, []string{"Which meal?", "Which seat?"}, d.asked)
						require.Equal(t, "hold ticket", here.did.all())
					})
				}
			}
		}
	}
	require.Equal(t, len(styleNames)*2*3*len(ways), cells)
	t.Logf("%d cells", cells)
}

// Behind a boundary that was installed first each round of a task passes the boundary, and
// has the result that it has by round trips.
func TestATaskPassesTheBoundary(t *testing.T) {
	for _, decline := range []bool{false, true} {
		var results []string
		for _, way := range []string{"round trips", "task"} {
			rt, err := mrtr.New(nil)
			require.NoError(t, err)
			defer rt.Close()
			here := &site{server: mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil), did: &ledger{}}
			require.NoError(t, boundary.Install(here.server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
			style, _ := here.did.style("journal")
			mcp.AddTool(here.server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: atOnce}))
			m, err := tasks.Install(here.server, &tasks.Options{Runtime: rt})
			require.NoError(t, err)
			defer m.Close()
			if !decline {
				results = append(results, play(t, here, "memory", way).result)
				continue
			}
			if way == "task" {
				c := connect(t, here.server)
				s := c.settle(c.call().TaskID)
				c.update(s.TaskID, map[string]any{"seat-1": map[string]any{"action": "decline"}})
				results = append(results, canonical(t, c.settle(s.TaskID).Result))
				continue
			}
			out, err := dial(t, here, "memory", &wire.Options{Capabilities: wire.FormOnly}).Call(context.Background(), "book", trip{"Lisbon"}, wire.Answers{"seat": wire.Decline})
			require.NoError(t, err)
			results = append(results, canonical(t, out.Result))
		}
		require.Len(t, results, 2)
		require.Equal(t, results[0], results[1])
		require.Equal(t, decline, strings.Contains(results[0], `"isError":true`), results[0])
	}
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
