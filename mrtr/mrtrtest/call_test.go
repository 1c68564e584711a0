package mrtrtest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

func TestCall(t *testing.T) {
	legacy := &mrtrtest.Options{Era: mrtrtest.Legacy}
	cases := []struct {
		explanation string
		script      mrtrtest.Script
		opts        *mrtrtest.Options
		text        string
		requests    int
		asked       int
		effects     []string
	}{
		{"accepted", toLisbon(mrtrtest.Value("window")), nil, "Booked to Lisbon, window.", 2, 1, []string{"charge"}},
		{"accepted with content", toLisbon(mrtrtest.Accept(map[string]any{"seat": "aisle"})), nil, "Booked to Lisbon, aisle.", 2, 1, []string{"charge"}},
		{"declined", toLisbon(mrtrtest.Decline), nil, "Nothing was booked.", 2, 1, nil},
		{"cancelled", toLisbon(mrtrtest.Cancel), nil, "Nothing was booked.", 2, 1, nil},
		{"missing, then accepted", toLisbon(mrtrtest.Missing, mrtrtest.Value("window")), nil, "Booked to Lisbon, window.", 3, 2, []string{"charge"}},
		{"raw JSON", toLisbon(mrtrtest.Raw(`{"action":"decline","content":{}}`)), nil, "Nothing was booked.", 2, 1, nil},
		{"on fresh instances", toLisbon(mrtrtest.Value("window")), &mrtrtest.Options{FreshInstances: true}, "Booked to Lisbon, window.", 2, 1, []string{"charge"}},

		{"legacy, accepted", toLisbon(mrtrtest.Value("window")), legacy, "Booked to Lisbon, window.", 1, 1, []string{"charge"}},
		{"legacy, declined", toLisbon(mrtrtest.Decline), legacy, "Nothing was booked.", 1, 1, nil},
		{"legacy, cancelled", toLisbon(mrtrtest.Cancel), legacy, "Nothing was booked.", 1, 1, nil},
		{"legacy, by the message", mrtrtest.Script{
			Tool: "book", Arguments: trip{"Lisbon"}, Answers: mrtrtest.Answers{"Which seat?": {mrtrtest.Value("aisle")}},
		}, legacy, "Booked to Lisbon, aisle.", 1, 1, []string{"charge"}},
		{"any question", mrtrtest.Script{
			Tool: "book", Arguments: trip{"Lisbon"}, Answers: mrtrtest.Answers{"*": {mrtrtest.Value("aisle")}},
		}, nil, "Booked to Lisbon, aisle.", 2, 1, []string{"charge"}},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			out := mrtrtest.Call(t, newDesk, c.script, c.opts)
			require.Nil(t, out.Error)
			require.False(t, out.IsError)
			require.False(t, out.Incomplete)
			require.Contains(t, out.Text, c.text)
			require.Contains(t, string(out.Structured), c.text)
			require.Equal(t, c.requests, out.Requests)
			require.Len(t, out.Asked, c.asked)
			for _, q := range out.Asked {
				require.Equal(t, "seat", q.Key)
				require.Equal(t, "Which seat?", q.Message)
			}
			out.WantEffects(t, c.effects...)
		})
	}
}

// A form of several properties has no key for a legacy client, and the script of a modern
// one answers it all the same.
func TestOneScriptForBothEras(t *testing.T) {
	question := &mcp.ElicitParams{Message: "Where to?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{
		"from": map[string]any{"type": "string"}, "to": map[string]any{"type": "string"},
	}}}
	build := serve(func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
		return func(_ context.Context, req *mcp.CallToolRequest, _ trip) (*mcp.CallToolResult, booking, error) {
			answer, _ := req.Params.InputResponses["route"].(*mcp.ElicitResult)
			switch {
			case answer == nil:
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"route": question}}, booking{}, nil
			case answer.Action == "accept":
				w.Effect(fmt.Sprintf("%v to %v", answer.Content["from"], answer.Content["to"]))
			}
			return nil, booking{Text: answer.Action}, nil
		}
	})
	route := mrtrtest.Accept(map[string]any{"from": "Oslo", "to": "Lisbon"})
	for _, c := range []struct {
		explanation string
		answers     mrtrtest.Answers
		effects     []string
	}{
		{"by its content", mrtrtest.Answers{"route": {route}, "seat": {mrtrtest.Value("window")}, "meal": {mrtrtest.Decline}}, []string{"Oslo to Lisbon"}},
		{"one property of two", mrtrtest.Answers{"route": {mrtrtest.Accept(map[string]any{"to": "Lisbon"})}}, []string{"<nil> to Lisbon"}},
		{"declined", mrtrtest.Answers{"route": {mrtrtest.Decline}, "seat": {mrtrtest.Value("window")}}, nil},
		{"any", mrtrtest.Answers{"*": {route}, "seat": {mrtrtest.Value("window")}}, []string{"Oslo to Lisbon"}},
	} {
		for _, era := range []mrtrtest.Era{mrtrtest.Modern, mrtrtest.Legacy} {
			out := mrtrtest.Call(t, build, mrtrtest.Script{Tool: "book", Arguments: trip{"Lisbon"}, Answers: c.answers}, &mrtrtest.Options{Era: era})
			require.False(t, out.IsError, "%s: %s", c.explanation, out.Text)
			out.WantEffects(t, c.effects...)
		}
	}
}

// One error of each kind reaches the outcome or fails the call.
func TestCallErrors(t *testing.T) {
	unknown := mrtrtest.Call(t, newDesk, mrtrtest.Script{Tool: "fly"}, nil)
	require.NotNil(t, unknown.Error)
	require.Nil(t, unknown.Result)

	away := func(mrtrtest.Question) any { return &jsonrpc.Error{Code: -32000, Message: "the user is away"} }
	// A legacy client cannot leave a question open: its answer is an error.
	for _, answer := range []mrtrtest.Answer{away, mrtrtest.Missing} {
		failed := mrtrtest.Call(t, newDesk, toLisbon(answer), &mrtrtest.Options{Era: mrtrtest.Legacy})
		require.True(t, failed.Error != nil || failed.IsError, failed.Text)
		require.Len(t, failed.Asked, 1)
		failed.WantEffects(t)
	}
}

// A call without an end is an error of Play, which says why.
func TestPlayDoesNotHang(t *testing.T) {
	stuck := make(chan struct{})
	type handler = mcp.ToolHandlerFor[trip, booking]
	cases := []struct {
		explanation string
		handler     handler
		says        []string
	}{
		{"a handler that panics", func(context.Context, *mcp.CallToolRequest, trip) (*mcp.CallToolResult, booking, error) {
			panic("no seats")
		}, []string{"panicked", "no seats", "call_test.go"}},
		{"one that waits for its context", func(ctx context.Context, _ *mcp.CallToolRequest, _ trip) (*mcp.CallToolResult, booking, error) {
			<-ctx.Done()
			return nil, booking{}, ctx.Err()
		}, []string{"request 1 was not answered within 30s"}},
		{"one that always asks", func(context.Context, *mcp.CallToolRequest, trip) (*mcp.CallToolResult, booking, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"seat": seatQuestion}}, booking{}, nil
		}, []string{"still asks after 50 requests"}},
		{"one that never returns", func(ctx context.Context, _ *mcp.CallToolRequest, _ trip) (*mcp.CallToolResult, booking, error) {
			<-stuck
			return nil, booking{}, nil
		}, []string{"request 1 was not answered within 30s", "does not heed its context"}},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck = make(chan struct{})
				build := serve(func(*mrtrtest.World) handler { return c.handler })
				_, err := mrtrtest.Play(t.Context(), build, toLisbon(mrtrtest.Value("window")), nil)
				close(stuck)
				require.Error(t, err)
				for _, part := range c.says {
					require.ErrorContains(t, err, part)
				}
			})
		})
	}
	_, err := mrtrtest.Play(t.Context(), func(*mrtrtest.World) *mcp.Server { return nil }, toLisbon(), nil)
	require.ErrorContains(t, err, "no server")
	for _, misused := range []*mrtrtest.Options{{Era: 7}, {Timeout: -1}} {
		_, err = mrtrtest.Play(t.Context(), newDesk, toLisbon(), misused)
		require.ErrorContains(t, err, "there is no era")
	}
}

// A server that the test keeps, and serves again and again, is told from the
// instances that it was before.
func TestCallOfOneServerTwice(t *testing.T) {
	var server *mcp.Server
	build := func(w *mrtrtest.World) *mcp.Server {
		if server == nil {
			server = newDesk(w)
		}
		return server
	}
	for range 2 {
		out := mrtrtest.Call(t, build, toLisbon(mrtrtest.Value("window")), &mrtrtest.Options{FreshInstances: true})
		require.Equal(t, 2, out.Requests)
	}
}

// Each instance has a world of its own, and those of a deployment share its key
// and its values.
func TestWorldsOfADeployment(t *testing.T) {
	var mu sync.Mutex
	var log []string
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, fmt.Sprintf(format, args...))
	}
	keys := map[string]bool{}
	build := serve(func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
		keys[string(w.Key())] = true
		n := mrtrtest.Shared(w, "counter", func() *counter { return &counter{closed: func() { say("counter closed") }} }).next()
		say("instance %d built", n)
		w.Cleanup(func() { say("instance %d stopped", n) })
		w.Cleanup(func() { say("instance %d stops", n) })
		return book(func() { w.Effect("charge") })
	})
	mrtrtest.Call(t, build, toLisbon(mrtrtest.Value("window")), &mrtrtest.Options{FreshInstances: true})
	require.Equal(t, []string{
		"instance 1 built", "instance 1 stops", "instance 1 stopped",
		"instance 2 built", "instance 2 stops", "instance 2 stopped",
		"counter closed",
	}, log)
	require.Len(t, keys, 1)
	for key := range keys {
		require.Len(t, key, 32)
	}
}

type counter struct {
	n      int
	closed func()
}

func (c *counter) next() int    { c.n++; return c.n }
func (c *counter) Close() error { c.closed(); return nil }

// recorder is a test that fails on purpose.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return "TestRecorder" }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }
