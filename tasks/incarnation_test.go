package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/tasks"
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
