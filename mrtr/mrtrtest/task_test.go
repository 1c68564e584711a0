package mrtrtest_test

import (
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/tasks"
)

// asTask serves the tool as a task, to the clients that take tasks.
func asTask(w *mrtrtest.World) *mcp.Server {
	server := newDesk(w)
	m, err := tasks.Install(server, &tasks.Options{Policy: map[string]tasks.Policy{"book": {AtOnce: true}}})
	if err != nil {
		panic(err)
	}
	w.Cleanup(func() { _ = m.Close() })
	return server
}

// A script serves a task as it serves round trips: the same questions, the same outcome.
func TestCallOfATask(t *testing.T) {
	cases := []struct {
		explanation string
		answers     []mrtrtest.Answer
		requests    int
	}{
		{"accepted", []mrtrtest.Answer{mrtrtest.Value("window")}, 2},
		{"declined", []mrtrtest.Answer{mrtrtest.Decline}, 2},
		{"left open, then accepted", []mrtrtest.Answer{mrtrtest.Missing, mrtrtest.Value("window")}, 3},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			trips := mrtrtest.Call(t, asTask, toLisbon(c.answers...), nil)
			task := mrtrtest.Call(t, asTask, toLisbon(c.answers...), &mrtrtest.Options{Era: mrtrtest.TakesTasks})
			require.Equal(t, c.requests, task.Requests)
			require.Contains(t, task.Transcript(), "-- client tasks/update --")
			require.NotContains(t, trips.Transcript(), "-- client tasks/update --")
			require.Equal(t, trips.Requests, task.Requests)
			require.Equal(t, trips.Asked, task.Asked)
			require.Equal(t, trips.Effects, task.Effects)
			require.Equal(t, trips.Text, task.Text)
			require.JSONEq(t, string(trips.Structured), string(task.Structured))
		})
	}
}

// Two equal tasks have the same transcript, however often their client polled.
func TestTranscriptOfATask(t *testing.T) {
	opts := &mrtrtest.Options{Era: mrtrtest.TakesTasks}
	for range 3 {
		out := mrtrtest.Call(t, asTask, toLisbon(mrtrtest.Value("window")), opts)
		mrtrtest.Golden(t, filepath.Join("testdata", "task.txtar"), out.Transcript())
	}
}
