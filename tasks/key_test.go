package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// begin sends a first request with a key.
func (c client) begin(key, city string) (s seen, failed *jsonrpc.Error) {
	c.Helper()
	meta := c.Meta()
	meta["idempotencyKey"] = key
	res, err := c.Exchange(context.Background(), wire.Request{Method: "tools/call", Params: map[string]any{
		"_meta": meta, "name": "book", "arguments": trip{city},
	}})
	require.NoError(c, err)
	if res.Error != nil {
		require.ErrorAs(c, res.Error, &failed)
		return s, failed
	}
	require.NoError(c, json.Unmarshal(res.Result, &s))
	return s, nil
}

// Calls with one key are one task, at whichever instance, at once and after its end too.
func TestCallsWithOneKeyAreOneTask(t *testing.T) {
	set := setting{style: "once", records: machine{store.NewMemory(nil)}, policy: atOnce, keys: []statecodec.Key{statecodec.GenerateKey()}, did: &ledger{}}
	here, there := connect(t, newSite(t, set).server), connect(t, newSite(t, set).server)
	ids := make(chan string, 8)
	var all sync.WaitGroup
	for i := range cap(ids) {
		all.Go(func() {
			s, _ := []client{here, there}[i%2].begin("one", "Lisbon")
			ids <- s.TaskID
		})
	}
	all.Wait()
	close(ids)
	id := <-ids
	require.NotEmpty(t, id)
	for other := range ids {
		require.Equal(t, id, other)
	}
	require.Equal(t, "completed", there.finish(id).Status)
	require.Equal(t, 1, strings.Count(set.did.all(), "ticket"), set.did.all())
	again, failed := here.begin("one", "Lisbon")
	require.Nil(t, failed)
	require.Equal(t, id, again.TaskID)
	require.Equal(t, "completed", again.Status)

	_, failed = there.begin("one", "Porto")
	require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
	other, failed := here.begin("two", "Lisbon")
	require.Nil(t, failed)
	require.NotEqual(t, id, other.TaskID)
}

// A key stands for a task or for a call that is none, whichever client comes first with it.
func TestAKeyIsThatOfATaskOrOfNone(t *testing.T) {
	set := setting{style: "once", records: machine{store.NewMemory(nil)}, policy: atOnce, keys: []statecodec.Key{statecodec.GenerateKey()}, did: &ledger{}}
	server := newSite(t, set).server
	takes, plain := connect(t, server), connectWith(t, server, wire.Options{Capabilities: wire.FormOnly})
	for key, order := range map[string][2]client{"one": {takes, plain}, "two": {plain, takes}} {
		for range 2 {
			_, failed := order[0].begin(key, "Lisbon")
			require.Nil(t, failed, "%v", failed)
			_, failed = order[1].begin(key, "Lisbon")
			require.NotNil(t, failed)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
			require.Contains(t, failed.Message, "key")
		}
	}
}

func byName(who mcp.Implementation, client era.Client) era.Client {
	client.Form = client.Form && who.Name != "no forms"
	return client
}

// The questions of a task are those of the client as the hook narrows it, in each of its
// rounds, and a client that cannot be asked gets no task.
func TestATaskGoesByTheNarrowedClient(t *testing.T) {
	for _, style := range styleNames {
		for _, stored := range []bool{false, true} {
			s := setting{style: style, policy: atOnce, narrow: byName, needs: []mrtr.AnyQuestion{seat}}
			if stored {
				s.records = store.NewMemory(nil)
			}
			here := newSite(t, s)
			o := &wire.Options{Name: "forms", Capabilities: wire.FormOnly, TakesTasks: true}
			c := dial(t, here, "HTTP", o)
			out, err := c.Call(context.Background(), "book", trip{"Lisbon"}, wire.Answers{"seat": wire.Value("window"), "meal": wire.Value("fish")})
			require.NoError(t, err)
			require.Positive(t, c.Requests("tasks/update"), style)
			require.JSONEq(t, `{"plan":"to Lisbon: window, fish"}`, string(out.Structured), style)
			require.Len(t, out.Questions, 2)
			require.Equal(t, "hold ticket", here.did.take())

			o = &wire.Options{Name: "no forms", Capabilities: wire.FormOnly, TakesTasks: true}
			out, err = dial(t, here, "HTTP", o).Call(context.Background(), "book", trip{"Lisbon"}, nil)
			require.NoError(t, err)
			require.NotNil(t, out.Error, style)
			require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, out.Error.Code)
			require.Empty(t, here.did.all())
		}
	}
}

// Over no transport does one client see the list of another. A tool that is hidden, and
// called, is refused as ever, through a boundary too.
func TestAListIsForItsClientAlone(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			here := newSite(t, setting{style: "native", narrow: byName, needs: []mrtr.AnyQuestion{seat}, boundary: after})
			here.rt.HideUnaskable(here.server)
			for range 2 {
				for name, want := range map[string]int{"forms": 1, "no forms": 0} {
					c := dial(t, here, transport, &wire.Options{Name: name, Capabilities: wire.FormOnly})
					reply, err := c.Send(context.Background(), wire.Request{Method: "tools/list", Params: map[string]any{"_meta": c.Meta()}})
					require.NoError(t, err)
					require.Nil(t, reply.Error)
					var list struct{ Tools []json.RawMessage }
					require.NoError(t, json.Unmarshal(reply.Result, &list))
					require.Len(t, list.Tools, want, name)
					if want == 0 {
						reply, err = c.Send(context.Background(), wire.Request{Name: "book", Arguments: trip{"Lisbon"}})
						require.NoError(t, err)
						require.NotNil(t, reply.Error)
						require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, reply.Error.Code)
					}
				}
			}
		})
	}
	require.NotEmpty(t, transports)
}

// pairing is a tool that asks two questions at once, of which the first has a minute.
func pairing(t *testing.T, o *mrtr.Options) *mcp.Server {
	first := mrtr.Choose("first", "Which?", mrtr.Choices("a", "b")...).Default("a").Within(time.Minute)
	second := mrtr.Choose("second", "Which?", mrtr.Choices("a", "b")...)
	rt, err := mrtr.New(o)
	require.NoError(t, err)
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, plan, error) {
		one, ok := mrtr.Answer(c, first)
		two, also := mrtr.Answer(c, second)
		if !ok || !also {
			return mrtr.Need(first, second), plan{}, nil
		}
		return nil, plan{one + two}, nil
	}), &mrtr.HandlerOptions{Task: atOnce}))
	manager, err := tasks.Install(server, &tasks.Options{Runtime: rt})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, manager.Close())
		require.NoError(t, rt.Close())
	})
	return server
}

// An answer counts from when it comes, however long the other questions of its round wait.
// After its deadline a question is open no more, and its answer is ignored.
func TestADeadlineIsItsQuestionsOwn(t *testing.T) {
	const never = 0
	for explanation, c := range map[string]struct {
		first, second time.Duration // when their answers come
		want          string
	}{
		"both in time":               {10 * time.Second, 20 * time.Second, "bb"},
		"the first, long before":     {10 * time.Second, 10 * time.Minute, "bb"},
		"the first too late":         {2 * time.Minute, 10 * time.Minute, "ab"},
		"the first never":            {never, 10 * time.Minute, "ab"},
		"the second before silence":  {never, 10 * time.Second, "ab"},
		"the first as its time ends": {time.Minute, 2 * time.Minute, "ab"},
	} {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, store %t", explanation, stored), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := &mrtr.Options{}
					if stored {
						o.Durable = durable.In(store.NewMemory(nil), nil)
					}
					client := connect(t, pairing(t, o))
					id := client.call().TaskID
					require.Equal(t, []string{"first-1", "second-1"}, client.settle(id).keys())
					asked := time.Now()
					until := func(d time.Duration) { time.Sleep(d - time.Since(asked)) }
					answer := func(key string) { client.update(id, map[string]any{key + "-1": accept(key, "b")}) }
					if c.first != never {
						until(c.first)
						answer("first")
						require.Equal(t, []string{"second-1"}, client.settle(id).keys())
					}
					until(c.second)
					if c.second > time.Minute {
						require.Equal(t, []string{"second-1"}, client.settle(id).keys())
					}
					answer("second")
					if c.first == never && c.second < time.Minute {
						require.Equal(t, []string{"first-1"}, client.settle(id).keys())
						until(time.Minute)
					}
					end := client.settle(id)
					require.Equal(t, "completed", end.Status)
					require.Contains(t, string(end.Result), `"`+c.want+`"`)
				})
			})
		}
	}
}
