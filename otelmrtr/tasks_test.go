package otelmrtr_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
	"github.com/mrtr-go/sdk/tasks"
)

func native(end func(ctx context.Context) error) mrtr.Style[trip, seat] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, seat, error) {
		v, ok := mrtr.Answer(c, where)
		if !ok {
			return mrtr.Need(where), seat{}, nil
		}
		return nil, seat{v}, end(ctx)
	})
}

// The rounds of a task are known by their attribute, and its gauges say that it is open
// until it ends.
func TestTheRoundsOfATask(t *testing.T) {
	s := seeing(t, otelmrtr.Options{})
	rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(s.observer)})
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, native(func(context.Context) error {
		require.Contains(t, s.metrics(), "mrtr.tasks.working{mrtr.runtime=main} 1")
		return nil
	}), &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	stop, err := s.observer.WatchTasks(m, "main")
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	client, err := wire.Connect(t.Context(), server, &wire.Options{TakesTasks: true})
	require.NoError(t, err)
	defer client.Close()

	asked, err := client.Send(t.Context(), wire.Request{Name: "book", Arguments: trip{}})
	require.NoError(t, err)
	require.Contains(t, s.metrics(), "mrtr.tasks.open{mrtr.runtime=main} 1")
	require.Contains(t, s.metrics(), "mrtr.runtime=main,mrtr.way=task} 1")
	answers, err := wire.Answers{"seat": wire.Value("window")}.Responses(asked.Asks)
	require.NoError(t, err)
	_, err = client.Send(t.Context(), wire.Request{Task: asked.Task, Responses: answers})
	require.NoError(t, err)
	require.NoError(t, m.Close()) // the result is there a moment before the run has left
	require.Contains(t, s.metrics(), "mrtr.tasks.open{mrtr.runtime=main} 0")
	require.Contains(t, s.metrics(), "mrtr.outcome=completed,mrtr.task=true} 1")
}
