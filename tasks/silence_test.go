package tasks_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

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
