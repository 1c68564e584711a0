//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// runPush listens to tasks with two handles to the store, each of an instance of its own.
func (b *Backend) runPush(t *testing.T) {
	address := b.Addresses(t)()
	var handles [2]store.Store
	for i := range handles {
		handles[i] = fleet.Must(b.Open(t.Context(), address))(t)
		if c, ok := handles[i].(io.Closer); ok {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	push(t, handles)
}

// pusher is an instance that serves one tool, as tasks.
type pusher struct {
	url     string
	manager *tasks.Manager
}

func newPusher(t *testing.T, s store.Store, key statecodec.Key, ledger fleet.Ledger) pusher {
	rt := fleet.Must(mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Durable: durable.In(s, &remember)}))(t)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	server, row := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil), fleet.Find("journal")
	row.Opts.Task.AtOnce = true
	mrtr.AddTool(server, &mcp.Tool{Name: fleet.ToolName}, mrtr.Tool(rt, row.Style(&fleet.Shop{Ledger: ledger}), &row.Opts))
	m := fleet.Must(tasks.Install(server, &tasks.Options{Runtime: rt}))(t)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	web := httptest.NewServer(fleet.Must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return pusher{web.URL, m}
}

const listeners = 4

// push has clients listen to a thousand tasks, or fewer by day, each at the other instance than
// where its task was created and is answered. Each is told how the task ends, and no state twice.
func push(t *testing.T, handles [2]store.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	key, ledger := statecodec.GenerateKey(), fleet.NewLedger(t)
	instances := [2]pusher{newPusher(t, handles[0], key, ledger), newPusher(t, handles[1], key, ledger)}
	each := storm.Nightly(1000, 48) / listeners
	require.NoError(t, storm.Parallel(listeners, listeners, func(n int) {
		dial := func(url string) *wire.Client {
			return fault.Must(wire.DialHTTP(ctx, url, nil, &wire.Options{TakesTasks: true}))
		}
		creator, listener := dial(instances[n%2].url), dial(instances[1-n%2].url)
		defer creator.Close()
		defer listener.Close()
		ids := make([]string, each)
		for i := range ids {
			var created struct{ TaskID string }
			for created.TaskID == "" { // a store that is busy takes no task, and the call is none
				made := fault.Must(creator.Exchange(ctx, wire.Request{Name: fleet.ToolName, Arguments: fleet.Order{Order: fmt.Sprintf("%d-%d/ok", n, i)}}))
				fault.Check(json.Unmarshal(made.Result, &created))
			}
			ids[i] = created.TaskID
		}
		over := fault.Must(listener.Start(ctx, wire.Request{Method: "subscriptions/listen", Params: map[string]any{
			"_meta": listener.Meta(), "notifications": map[string]any{"taskIds": ids},
		}}))
		for _, id := range ids {
			asked := fault.Must(creator.Poll(ctx, id))
			answers := fault.Must(wire.Answers{fleet.Question: wire.Value(true)}.Responses(asked.Asks))
			update := wire.Request{Method: "tasks/update", Params: map[string]any{"_meta": creator.Meta(), "taskId": id, "inputResponses": answers}}
			for fault.Must(creator.Exchange(ctx, update)).Error != nil { // for the same reason: send it again
			}
		}
		fault.Must(over.Wait(ctx))
		states := map[string]string{}
		for _, raw := range listener.Notifications("notifications/tasks") {
			var s struct{ TaskID, Status string }
			fault.Check(json.Unmarshal(raw, &s))
			if states[s.TaskID] == s.Status {
				fault.Failf("told twice: %s", raw)
			}
			states[s.TaskID] = s.Status
		}
		for _, id := range ids {
			if states[id] != "completed" {
				fault.Failf("the last that was told of %s is %q", id, states[id])
			}
		}
	}))
	require.Equal(t, listeners*each, paidOnce(t, ledger))
	for _, one := range instances {
		require.Zero(t, one.manager.Stats().Listening)
	}
}
