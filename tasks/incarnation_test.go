package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// plainSite is a server with a tool of go-sdk's own, which sells a ticket once it has a seat.
func plainSite(t *testing.T, records *storetest.FailingOver, keys []statecodec.Key, did *ledger) *mcp.Server {
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(records, nil), State: &statecodec.Options{Keys: keys}})
	require.NoError(t, err)
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.InputResponses == nil {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"seat": &mcp.ElicitParams{Message: "Which seat?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
		}
		did.note("ticket")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt, Policy: map[string]tasks.Policy{"book": {AtOnce: true}}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, rt.Close())
	})
	return server
}

// A store fails over when a task has ended, and has lost all writes but the first few, however many.
// Another instance goes on with what there is: no ticket is sold twice, and one that was sold is not told
// as if it had not been.
func TestATaskOutlivesItsStoresIncarnation(t *testing.T) {
	ends := map[string]int{}
	for _, style := range []string{"native", "once", "steps", "journal", "coroutine", "plain"} {
		for kept, all := 1, 1; kept <= all; kept++ {
			t.Run(fmt.Sprintf("%s, %d writes", style, kept), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					records, keys, did := storetest.NewFailingOver(), []statecodec.Key{statecodec.GenerateKey()}, &ledger{}
					serve := func() client {
						if style == "plain" {
							return connect(t, plainSite(t, records, keys, did))
						}
						return connect(t, newSite(t, setting{style: style, policy: atOnce, did: did, keys: keys, records: records}).server)
					}
					here := serve()
					id := here.call().TaskID
					require.Equal(t, "completed", here.finish(id).Status)
					all = records.Writes()
					records.FailOver(kept)
					end := playOn(t, serve(), id)
					ends[end]++
					require.Equal(t, 1, did.count("ticket"), end)
					require.NotEqual(t, "cancelled", end)
				})
			})
		}
	}
	t.Log(ends)
	require.Positive(t, ends["completed"])
	require.Positive(t, ends["unknown"])
}

// Whoever listens to a task hears of its end, and the task is counted out.
func TestATaskIsToldInTheNextIncarnation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records, keys, did := storetest.NewFailingOver(), []statecodec.Key{statecodec.GenerateKey()}, &ledger{}
		here := newSite(t, setting{style: "journal", policy: atOnce, did: did, keys: keys, records: records})
		c := connect(t, here.server)
		id := c.call().TaskID
		require.Equal(t, "input_required", c.settle(id).Status)
		var told []string
		listening := &ear{ids: []string{id}, read: func(state string) { told = append(told, state) }}
		over := listening.listens(t, here)
		synctest.Wait()
		records.FailOver(records.Writes())
		playOn(t, c, id)
		<-over
		require.Equal(t, "completed ", told[len(told)-1], "%q", told)
		require.Zero(t, here.manager.Stats().Open)
		require.Empty(t, here.manager.Waiting())
	})
}

// playOn answers all that a task asks, until it has ended: as completed, unknown, or with another text.
func playOn(t *testing.T, c client, id string) string {
	for range 240 {
		s, failed := c.send("tasks/get", map[string]any{"taskId": id})
		switch {
		case failed != nil:
			require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
			return "gone"
		case s.Status == "input_required":
			c.answer(s)
		case s.Status == "working":
			time.Sleep(time.Second)
		case s.Status == "completed" && !isError(t, s):
			return "completed"
		default:
			require.Regexp(t, "is unknown|nobody knows", string(s.raw))
			return "unknown"
		}
	}
	require.Fail(t, "it does not end")
	return ""
}

func isError(t *testing.T, s seen) bool {
	var res struct{ IsError bool }
	require.NoError(t, json.Unmarshal(s.Result, &res))
	return res.IsError
}

func (l *ledger) count(what string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, did := range l.did {
		if did == what {
			n++
		}
	}
	return n
}

// serveVariable makes [TestEveryRequestGoesToTheOtherInstance] serve its instances until its
// input ends. The tests of interop set it.
const serveVariable = "TASKS_TEST_SERVE"

// instancesOf are the places at which a style is served: one instance without a store, and
// two that share one, of which every request goes to the other one.
var instancesOf = map[string]int{"one": 1, "two": 2}

// serveInstances serves every style at every place, under /style/place/mcp. The effects since
// the last look are under /style/place/effects.
func serveInstances(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	for _, style := range styleNames {
		for place, instances := range instancesOf {
			s := setting{style: style, policy: atOnce, did: &ledger{}, options: tasks.Options{PollInterval: 10 * time.Millisecond}}
			if instances > 1 {
				s.records, s.keys = machine{store.NewMemory(nil)}, []statecodec.Key{statecodec.GenerateKey()}
			}
			var fronts []http.Handler
			for range instances {
				fronts = append(fronts, front(t, newSite(t, s).server, os.Getenv("MRTR_STOCK_FRONT") == "1"))
			}
			var turn atomic.Int64
			mux.HandleFunc("/"+style+"/"+place+"/mcp", func(w http.ResponseWriter, r *http.Request) {
				fronts[int(turn.Add(1))%instances].ServeHTTP(w, r)
			})
			mux.HandleFunc("/"+style+"/"+place+"/effects", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, s.did.take())
			})
		}
	}
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web
}

func front(t *testing.T, server *mcp.Server, stock bool) http.Handler {
	h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock})
	require.NoError(t, err)
	return h
}

// Two instances that share a store serve a task together, in every style but a coroutine, with
// each request at the other one: it is asked, answered, and cancelled.
func TestEveryRequestGoesToTheOtherInstance(t *testing.T) {
	web := serveInstances(t)
	if os.Getenv(serveVariable) != "" {
		fmt.Printf("listening on %s\n", web.URL)
		_, err := io.Copy(io.Discard, os.Stdin)
		require.NoError(t, err)
		return
	}
	cells := 0
	for _, style := range styleNames {
		for place := range instancesOf {
			if style == "coroutine" && place == "two" {
				continue
			}
			for _, cancels := range []bool{false, true} {
				cells++
				t.Run(fmt.Sprintf("%s/%s/cancels=%t", style, place, cancels), func(t *testing.T) {
					url := web.URL + "/" + style + "/" + place
					w, err := wire.DialHTTP(t.Context(), url+"/mcp", web.Client(), &wire.Options{Capabilities: takesTasks})
					require.NoError(t, err)
					defer w.Close()
					c := client{t, w}
					s := c.settle(c.call().TaskID)
					status, effects := "completed", "hold ticket"
					if cancels {
						c.cancel(s.TaskID)
						status, effects = "cancelled", undoneAfter(style, asksFirst)
					}
					require.Equal(t, status, c.finish(s.TaskID).Status)
					res, err := web.Client().Get(url + "/effects")
					require.NoError(t, err)
					did, err := io.ReadAll(res.Body)
					require.NoError(t, err)
					require.NoError(t, res.Body.Close())
					require.Equal(t, effects, string(did))
				})
			}
		}
	}
	require.Equal(t, len(styleNames)*2*2-2, cells)
	t.Logf("%d cells", cells)
}
