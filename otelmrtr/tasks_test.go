package otelmrtr_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/tasks"
)

// The rounds of a task are known by their attribute, and its gauges say that it is open
// until it ends.
func TestTheRoundsOfATask(t *testing.T) {
	s := observed(t, mrtr.Options{})
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	goOn, began := make(chan struct{}), make(chan struct{})
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(s.rt, native(func(context.Context) error {
		close(began)
		<-goOn
		return nil
	}), &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
	m, err := tasks.Install(server, &tasks.Options{Runtime: s.rt})
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
	require.NotEmpty(t, asked.Task)
	require.Contains(t, s.metrics(), "mrtr.tasks.open{mrtr.runtime=main} 1")
	answers, err := wire.Answers{"seat": wire.Value("window")}.Responses(asked.Asks)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := client.Send(t.Context(), wire.Request{Task: asked.Task, Responses: answers})
		ended <- err
	}()
	<-began
	require.Contains(t, s.metrics(), "mrtr.tasks.working{mrtr.runtime=main} 1")
	close(goOn)
	require.NoError(t, <-ended)
	require.NoError(t, m.Close()) // the result is there a moment before the run has left
	metrics := s.metrics()
	require.Contains(t, metrics, "mrtr.tasks.open{mrtr.runtime=main} 0")
	require.Contains(t, metrics, "mrtr.tasks.working{mrtr.runtime=main} 0")
	require.Contains(t, metrics, "mrtr.outcome=completed,mrtr.task=true} 1")
}
