package mrtrtest_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// A harness with a client of its own: one instance dies of its effect, and another, which
// knows the same secrets, serves the same user.
func TestADeploymentOutlivesItsInstance(t *testing.T) {
	var keys [][]byte
	home := &mrtrtest.Deployment{Name: "home", Build: func(w *mrtrtest.World) *mcp.Server {
		keys = append(keys, w.Key())
		return newDesk(w)
	}}
	book := func() (*mrtrtest.Instance, *mcp.CallToolResult, error) {
		instance, err := home.Start()
		require.NoError(t, err)
		transport, err := instance.Connect(t.Context(), "ada")
		require.NoError(t, err)
		client := mcp.NewClient(&mcp.Implementation{Name: "harness", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: takesTheWindow})
		session, err := client.Connect(t.Context(), transport, nil)
		require.NoError(t, err)
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "book", Arguments: trip{"Lisbon"}})
		return instance, result, err
	}
	over := make(chan struct{})
	home.CrashAtEffect(over)
	dead, _, err := book()
	require.Error(t, err)
	require.ErrorContains(t, dead.Died(), `the process was ended after the effect "charge"`)
	require.Equal(t, map[string]int{"charge": 1}, home.Effects())

	home.CrashAtEffect(nil)
	alive, result, err := book()
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.NoError(t, alive.Died())
	require.Equal(t, map[string]int{"charge": 2}, home.Effects())
	require.Len(t, keys, 2)
	require.Equal(t, keys[0], keys[1])

	close(over) // the dead handler returns
	require.NoError(t, dead.Stop())
	require.NoError(t, alive.Stop())
	require.NoError(t, home.Close())
}

func takesTheWindow(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "window"}}, nil
}

// trip is the input of the tool book, and booking its output.
type (
	trip struct {
		To string `json:"to"`
	}
	booking struct {
		Text string `json:"text"`
	}
)

// seatQuestion asks for one of two seats.
var seatQuestion = &mcp.ElicitParams{
	Message: "Which seat?",
	RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"seat": map[string]any{"type": "string", "enum": []string{"window", "aisle"}}},
		"required":   []string{"seat"},
	},
}

// book is a tool as a go-sdk user writes one at first: it asks for a seat, and
// then charges the card.
func book(charge func()) mcp.ToolHandlerFor[trip, booking] {
	return func(_ context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
		answer, answered := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
		if !answered {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"seat": seatQuestion}}, booking{}, nil
		}
		if answer.Action != "accept" {
			return nil, booking{Text: "Nothing was booked."}, nil
		}
		seat, _ := answer.Content["seat"].(string)
		charge()
		return nil, booking{Text: "Booked to " + in.To + ", " + seat + "."}, nil
	}
}

// serve is a build function for one handler of the tool book.
func serve(handler func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking]) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "book"}, handler(w))
		return server
	}
}

func toLisbon(answers ...mrtrtest.Answer) mrtrtest.Script {
	return mrtrtest.Script{Tool: "book", Arguments: trip{"Lisbon"}, Answers: mrtrtest.Answers{"seat": answers}}
}

// unreachable is a store that cannot be reached.
type unreachable struct{ store.Store }

func (unreachable) Create(context.Context, store.Key, []byte, time.Duration) (store.Revision, error) {
	return 0, errors.New("the database is down")
}

// A round whose store fails is refused before anything runs.
func TestWithAStoreThatFails(t *testing.T) {
	out := mrtrtest.Call(t, serve(func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
		rt := engine(t, w, unreachable{w.Store()})
		return mrtr.Tool(rt, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ trip) (booking, error) {
			where, err := linear.Ask(ctx, c, seat)
			if err == nil {
				w.Effect("charge")
			}
			return booking{where}, err
		}), nil)
	}), toLisbon(mrtrtest.Value("window")), nil)
	out.WantEffects(t)
	require.NotNil(t, out.Error)
}

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
