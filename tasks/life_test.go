package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// moment is where a task is when something comes to it.
type moment string

const (
	asksFirst  moment = "asks at first"
	asksSecond moment = "asks again"
	atWork     moment = "at work"
	hasEnded   moment = "has ended"
)

// stands leads a task of the tool to a moment. The handler stands at its work until release.
func stands(t *testing.T, c client, did *ledger, m moment) (id string, release func()) {
	working, goOn := make(chan struct{}, 8), make(chan struct{})
	did.at = func(ctx context.Context) {
		working <- struct{}{}
		if m != atWork {
			return
		}
		select {
		case <-ctx.Done():
		case <-goOn:
		}
	}
	s := c.call()
	require.Equal(t, "task", s.ResultType)
	id = s.TaskID
	s = c.settle(id)
	require.Equal(t, "input_required", s.Status)
	switch m {
	case asksSecond:
		c.answer(s)
		c.settle(id)
	case atWork:
		c.answer(s)
		<-working
		require.Equal(t, "working", c.get(id).Status)
	case hasEnded:
		require.Equal(t, "completed", c.finish(id).Status)
	}
	return id, func() { close(goOn) }
}

// undoneAfter are the effects of the tool when it was cancelled at a moment.
func undoneAfter(style string, m moment) string {
	switch {
	case m == hasEnded:
		return "hold ticket"
	case style == "given" && m != atWork:
		return ""
	}
	return "hold unhold"
}

// cancelledInTheMiddle are the effects of a call that a cancellation met anywhere. Nothing
// undoes a ticket but "given".
var cancelledInTheMiddle = []string{"", "hold unhold", "hold ticket unhold", "hold ticket unticket unhold"}

// Every moment of a task by every message, in every style, with a store and without.
func TestEveryTransitionOfATask(t *testing.T) {
	cells := 0
	for _, style := range styleNames {
		for _, stored := range []bool{false, true} {
			for _, m := range []moment{asksFirst, asksSecond, atWork, hasEnded} {
				if style == "given" && m == asksSecond {
					continue // it asks once
				}
				for _, message := range []string{"get", "cancel", "cancel twice", "answers", "foreign keys", "answers, then cancel", "nothing that can be read"} {
					if cells++; !tried(cells) {
						continue
					}
					t.Run(fmt.Sprintf("%s/store=%t/%s/%s", style, stored, m, message), func(t *testing.T) {
						did := &ledger{}
						s := setting{style: style, policy: atOnce, did: did}
						if stored {
							s.records = store.NewMemory(nil)
						}
						c := connect(t, newSite(t, s).server)
						id, release := stands(t, c, did, m)
						before := c.get(id)
						open := before.keys()
						want, effects := "completed", "hold ticket"
						cancelled := func() {
							if m != hasEnded {
								want, effects = "cancelled", undoneAfter(style, m)
							}
						}
						switch message {
						case "get":
							require.Equal(t, before, c.get(id))
						case "cancel", "cancel twice":
							c.cancel(id)
							if message == "cancel twice" {
								c.cancel(id)
							}
							cancelled()
						case "answers":
							if len(open) > 0 {
								c.answer(before)
							}
						case "foreign keys":
							c.update(id, map[string]any{"seat-7": accept("seat", "window"), "seat": accept("seat", "window"), "": 1})
							require.Equal(t, before, c.get(id))
						case "answers, then cancel": // the call may be quicker
							if len(open) > 0 {
								c.answer(before)
							}
							c.cancel(id)
							end := c.settle(id)
							for end.Status == "input_required" {
								end = c.settle(id)
							}
							require.Contains(t, []string{"completed", "cancelled"}, end.Status)
							if end.Status == "cancelled" {
								require.Contains(t, cancelledInTheMiddle, did.all())
								return
							}
							require.Equal(t, "hold ticket", did.all())
							return
						case "nothing that can be read":
							if len(open) == 0 {
								break
							}
							c.update(id, map[string]any{open[0]: 7})
							if len(open) == 1 { // which is asked again, under a key of its own
								again := c.settle(id)
								require.Equal(t, "input_required", again.Status)
								require.NotEqual(t, open, again.keys())
							}
						}
						if want != "cancelled" && m == atWork {
							release()
						}
						end := c.finish(id)
						require.Equal(t, want, end.Status, string(end.raw))
						require.Equal(t, effects, did.all())
						require.Equal(t, want == "completed", len(end.Result) > 0)
						require.NotContains(t, string(end.raw), "requestState")
						require.Equal(t, end, c.get(id), "an end is final")
					})
				}
			}
		}
	}
	require.Equal(t, 2*7*(6*4+3), cells)
	t.Logf("%d cells", cells)
}

// Answers may come one by one. A task waits for the last of them, and shows the questions that are still open.
func TestAnswersComeInParts(t *testing.T) {
	did := &ledger{}
	c := connect(t, newSite(t, setting{style: "given", policy: atOnce, did: did}).server)
	s := c.settle(c.call().TaskID)
	require.Equal(t, []string{"meal-1", "seat-1"}, s.keys())
	c.update(s.TaskID, map[string]any{"seat-1": accept("seat", "window")})
	s = c.get(s.TaskID)
	require.Equal(t, "input_required", s.Status)
	require.Equal(t, []string{"meal-1"}, s.keys())
	c.update(s.TaskID, map[string]any{"seat-1": accept("seat", "aisle")}) // it is answered
	c.update(s.TaskID, map[string]any{"meal-1": accept("meal", "stone")})
	s = c.settle(s.TaskID)
	require.Equal(t, []string{"meal-2"}, s.keys(), "an answer that does not fit is asked for again under a fresh key")
	c.update(s.TaskID, map[string]any{"meal-2": accept("meal", "fish")})
	s = c.settle(s.TaskID)
	require.Equal(t, "completed", s.Status)
	require.Contains(t, string(s.Result), "to Lisbon: window, fish")
}

func TestADeclineIsAResult(t *testing.T) {
	did := &ledger{}
	c := connect(t, newSite(t, setting{style: "journal", policy: atOnce, did: did}).server)
	s := c.settle(c.call().TaskID)
	c.update(s.TaskID, map[string]any{"seat-1": map[string]any{"action": "decline"}})
	s = c.settle(s.TaskID)
	require.Equal(t, "completed", s.Status)
	require.Contains(t, string(s.Result), `"isError":true`)
	require.Equal(t, "hold unhold", did.all())
}

// serve serves one handler beside the trip's tool.
func serve(t *testing.T, policy mrtr.TaskPolicy, o tasks.Options, h mrtr.GuardedFunc[trip, plan]) *mcp.Server {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, mrtr.Native(h), &mrtr.HandlerOptions{Task: policy}))
	o.Runtime = rt
	m, err := tasks.Install(server, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, rt.Close())
	})
	return server
}

func TestAnErrorOfTheProtocolFailsTheTask(t *testing.T) {
	c := connect(t, serve(t, atOnce, tasks.Options{}, func(context.Context, *mrtr.Call, trip) (*mrtr.IncompleteResult, plan, error) {
		return nil, plan{}, &jsonrpc.Error{Code: -32050, Message: "no protocol", Data: json.RawMessage(`{"a":1}`)}
	}))
	s := c.settle(c.call().TaskID)
	require.Equal(t, "failed", s.Status)
	require.Equal(t, &jsonrpc.Error{Code: -32050, Message: "no protocol", Data: json.RawMessage(`{"a":1}`)}, s.Error)
	require.Equal(t, "no protocol", s.StatusMessage)
}

// A handler that panics without a boundary fails its task, and nothing else. The cause goes to
// the log alone.
func TestAPanicFailsTheTask(t *testing.T) {
	var log bytes.Buffer
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("secret")
	})
	m, err := tasks.Install(server, &tasks.Options{
		Policy: map[string]tasks.Policy{"book": {AtOnce: true}}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	c := connect(t, server)
	s := c.settle(c.call().TaskID)
	require.Equal(t, "failed", s.Status)
	require.NotContains(t, s.StatusMessage+s.Error.Error(), "secret")
	require.NoError(t, m.Close())
	require.Contains(t, log.String(), "secret")
}

// A handler that fails for now is called again with the same request.
func TestAnErrorForNowIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		c := connect(t, serve(t, atOnce, tasks.Options{}, func(context.Context, *mrtr.Call, trip) (*mrtr.IncompleteResult, plan, error) {
			if tries++; tries < 4 {
				return nil, plan{}, &jsonrpc.Error{Code: -31001, Message: "later"}
			}
			return nil, plan{"done"}, nil
		}))
		s := c.settle(c.call().TaskID)
		require.Equal(t, "completed", s.Status)
		require.Equal(t, 4, tries)
	})
}

// A call becomes a task when its round has run for a while. Earlier questions are asked by
// round trips.
func TestACallBecomesATaskAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		did := &ledger{}
		c := connect(t, newSite(t, setting{style: "coroutine", policy: mrtr.TaskPolicy{After: 2 * time.Second}, did: did}).server)
		did.at = func(context.Context) { time.Sleep(5 * time.Second) }
		s := c.call()
		require.Equal(t, "input_required", s.ResultType)
		require.Equal(t, []string{"seat"}, s.keys())
		began := time.Now()
		s = c.must("tools/call", map[string]any{
			"name": "book", "arguments": trip{"Lisbon"}, "requestState": s.RequestState,
			"inputResponses": map[string]any{"seat": accept("seat", "window")},
		})
		require.Equal(t, "task", s.ResultType)
		require.Equal(t, 2*time.Second, time.Since(began))
		s = c.settle(s.TaskID)
		require.Equal(t, []string{"meal-1"}, s.keys())
		s = c.finish(s.TaskID)
		require.Equal(t, "completed", s.Status)
		require.Equal(t, "hold ticket", did.all())
	})
}

func TestACallBecomesATaskWhereItsHandlerSaysSo(t *testing.T) {
	for _, takes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			server := serve(t, mrtr.TaskPolicy{Detached: true}, tasks.Options{}, func(ctx context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, plan, error) {
				if _, ok := mrtr.Answer(c, seat); !ok {
					return mrtr.Need(seat), plan{}, nil
				}
				c.Detach()
				time.Sleep(10 * time.Second)
				return nil, plan{"done"}, nil
			})
			capabilities := takesTasks
			if !takes {
				capabilities = wire.FormOnly
			}
			c := connectWith(t, server, wire.Options{Capabilities: capabilities})
			s := c.call()
			require.Equal(t, "input_required", s.ResultType)
			began := time.Now()
			s = c.must("tools/call", map[string]any{
				"name": "book", "arguments": trip{"Lisbon"}, "requestState": s.RequestState,
				"inputResponses": map[string]any{"seat": accept("seat", "window")},
			})
			if !takes {
				require.Equal(t, "complete", s.ResultType)
				return
			}
			require.Equal(t, "task", s.ResultType)
			require.Zero(t, time.Since(began))
			require.Equal(t, "completed", c.settle(s.TaskID).Status)
		})
	}
}

// The progress that a handler reports is shown as the status of its task, and no
// notification about it goes out.
func TestProgressIsTheStatusOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, atOnce, tasks.Options{}, func(ctx context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, plan, error) {
			for i := range 4 {
				_ = c.Session().NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: float64(i), Message: fmt.Sprint("part ", i, strings.Repeat("x", 2000))})
				time.Sleep(2 * time.Second)
			}
			return nil, plan{"done"}, nil
		})
		c := connect(t, server)
		id := c.call().TaskID
		time.Sleep(3500 * time.Millisecond)
		s := c.get(id)
		require.Equal(t, "working", s.Status)
		require.True(t, strings.HasPrefix(s.StatusMessage, "part 1x"), s.StatusMessage)
		require.Len(t, s.StatusMessage, 1024)
		require.Equal(t, "completed", c.settle(id).Status)
		require.Empty(t, c.Notifications("notifications/progress"))
	})
}

// A task is forgotten when its time is over.
func TestATaskExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, newSite(t, setting{style: "native", policy: atOnce, options: tasks.Options{TTL: time.Minute}}).server)
		s := c.call()
		require.EqualValues(t, 60_000, s.TTLMs)
		c.settle(s.TaskID)
		time.Sleep(30 * time.Second)
		require.Equal(t, "input_required", c.get(s.TaskID).Status)
		time.Sleep(2 * time.Minute)
		_, failed := c.send("tasks/get", map[string]any{"taskId": s.TaskID})
		require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
	})
}

// A value that the store does not take ends the task with words that say so: a result, an error, and
// questions.
func TestATaskThatIsTooLargeEnds(t *testing.T) {
	long := strings.Repeat("x", 8<<10)
	for explanation, test := range map[string]struct {
		status, says string
		handler      mrtr.GuardedFunc[trip, plan]
	}{
		"a result": {"completed", "too large", func(context.Context, *mrtr.Call, trip) (*mrtr.IncompleteResult, plan, error) {
			return nil, plan{long}, nil
		}},
		"an error": {"failed", "more than the server can keep", func(context.Context, *mrtr.Call, trip) (*mrtr.IncompleteResult, plan, error) {
			return nil, plan{}, &jsonrpc.Error{Code: -32050, Message: long}
		}},
		"a question": {"failed", "more than the server can keep", func(context.Context, *mrtr.Call, trip) (*mrtr.IncompleteResult, plan, error) {
			return mrtr.Need(mrtr.Elicit[string]("seat", long)), plan{}, nil
		}},
	} {
		t.Run(explanation, func(t *testing.T) {
			rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(store.NewMemory(&store.MemoryOptions{MaxValue: 4 << 10}), nil)})
			require.NoError(t, err)
			defer rt.Close()
			server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
			mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, mrtr.Native(test.handler), &mrtr.HandlerOptions{Task: atOnce}))
			m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
			require.NoError(t, err)
			defer m.Close()
			c := connect(t, server)
			s := c.settle(c.call().TaskID)
			require.Equal(t, test.status, s.Status, string(s.raw))
			require.Contains(t, string(s.raw), test.says)
		})
	}
}

// An answer that the store does not take is refused for good, and its question stays.
func TestAnAnswerThatIsTooLargeIsRefusedForGood(t *testing.T) {
	c := connect(t, newSite(t, setting{style: "native", records: store.NewMemory(&store.MemoryOptions{MaxValue: 4 << 10}), policy: atOnce}).server)
	s := c.settle(c.call().TaskID)
	key := s.keys()[0]
	_, failed := c.send("tasks/update", map[string]any{"taskId": s.TaskID, "inputResponses": map[string]any{key: accept("seat", strings.Repeat("x", 8<<10))}})
	require.NotNil(t, failed)
	require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
	require.Contains(t, failed.Message, "larger than the server can keep")
	require.Equal(t, []string{key}, c.get(s.TaskID).keys())
	require.Equal(t, "completed", c.finish(s.TaskID).Status)
}

// Tools of go-sdk's own that return questions are tasks by a policy for their name.
func TestAToolOfGoSDKIsATask(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses == nil {
				return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"seat": &mcp.ElicitParams{Message: "Which seat?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
			}
			if req.Params.RequestState != "s" {
				return nil, errors.New("another state")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
		m, err := tasks.Install(server, &tasks.Options{Policy: map[string]tasks.Policy{"book": {AtOnce: true, Required: true}}})
		require.NoError(t, err)
		c := connect(t, server)
		s := c.settle(c.call().TaskID)
		require.Equal(t, []string{"seat-1"}, s.keys())
		if cancels {
			c.cancel(s.TaskID)
			require.Equal(t, "cancelled", c.settle(s.TaskID).Status)
		} else {
			require.Contains(t, string(c.finish(s.TaskID).Result), "done")
		}
		_, failed := connectWith(t, server, wire.Options{Capabilities: wire.FormOnly}).send("tools/call", map[string]any{"name": "book"})
		require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, failed.Code)
		require.NoError(t, m.Close())
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	for explanation, o := range map[string]*tasks.Options{
		"a negative TTL":            {TTL: -1},
		"a TTL beyond the state's":  {Runtime: rt, TTL: 2 * time.Hour},
		"a TTL below a store's":     {TTL: time.Millisecond},
		"more for one than for all": {MaxTasks: 5, MaxTasksPerPrincipal: 6},
		"a policy of no way":        {Policy: map[string]tasks.Policy{"a": {Required: true}}},
		"a policy of two ways":      {Policy: map[string]tasks.Policy{"a": {AtOnce: true, After: 1}}},
	} {
		_, err := tasks.Install(mcp.NewServer(&mcp.Implementation{Name: "s"}, nil), o)
		require.ErrorContains(t, err, "tasks: Options.", explanation)
	}
}
