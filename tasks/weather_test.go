package tasks_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// weatherSite serves one style of the weather tool as a task, to the clients that take tasks.
func weatherSite(t *testing.T, o options.Option, stored, bounded bool) (here *site, charged *atomic.Int64) {
	t.Helper()
	var opts mrtr.Options
	if stored {
		opts.Durable = durable.In(store.NewMemory(nil), nil)
	}
	rt, err := mrtr.New(&opts)
	require.NoError(t, err)
	charged = &atomic.Int64{}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, o.New(rt, &options.Card{Out: func(string) { charged.Add(1) }}))
	if bounded {
		require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
	}
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt, Policy: map[string]tasks.Policy{"weather": {AtOnce: true}}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, rt.Close())
	})
	return &site{server: server}, charged
}

// Every style of the weather tool, over each transport, with a store and a boundary and without
// them, is asked the same in the three ways, and has the same result and one
// charge.
func TestTheWeatherToolIsAskedInThreeWays(t *testing.T) {
	clients := []wire.Options{{}, {Version: wire.Legacy}, {TakesTasks: true}}
	answers := wire.Answers{"place": wire.Value("Springfield, Missouri"), "units": wire.Value("imperial")}
	settings, cells := 0, 0
	for _, o := range options.All {
		for _, stored := range []bool{false, true} {
			for _, bounded := range []bool{false, true} {
				for _, transport := range transports {
					settings++
					if !tried(settings) {
						continue
					}
					want := ""
					for way := range clients {
						cells++
						t.Run(fmt.Sprintf("%s/store=%t/boundary=%t/%s/%s", o.Name, stored, bounded, transport, ways[way]), func(t *testing.T) {
							here, charged := weatherSite(t, o, stored, bounded)
							c := dial(t, here, transport, &clients[way])
							out, err := c.Call(context.Background(), "weather", map[string]any{"location": "Springfield"}, answers)
							require.NoError(t, err)
							var asked []string
							for _, q := range out.Questions {
								asked = append(asked, q.Message)
							}
							require.Equal(t, []string{"Which Springfield?", "Which units?"}, asked)
							require.EqualValues(t, 1, charged.Load())
							require.Equal(t, ways[way] == "task", c.Requests("tasks/update") == 2)
							got := canonical(t, out.Result)
							require.Contains(t, got, "70°F")
							if want == "" {
								want = got
							}
							require.Equal(t, want, got)
						})
					}
				}
			}
		}
	}
	require.Equal(t, len(options.All)*2*2*len(transports), settings)
	t.Logf("%d cells", cells)
}
