package mrtr_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

var taskPolicy = mrtr.TaskPolicy{AtOnce: true}

// newTaskTrip is a tool whose calls become tasks.
func newTaskTrip(rt *mrtr.Runtime, style tripStyle) *tripTool {
	return &tripTool{rt: rt, handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: taskPolicy})}
}

// eachTaskMemory runs a test without a store, and with one that others share.
func eachTaskMemory(t *testing.T, test func(t *testing.T, rt func(testing.TB) *mrtr.Runtime)) {
	for _, stored := range []bool{false, true} {
		t.Run(map[bool]string{false: "no store", true: "store"}[stored], func(t *testing.T) {
			records := store.NewMemory(nil)
			test(t, func(t testing.TB) *mrtr.Runtime {
				o := &mrtr.Options{}
				if stored {
					o.Store = &hookedStore{Memory: records, scope: store.Machine}
				}
				return newTripRuntime(t, o)
			})
		})
	}
}

// taskRequest makes a request as package tasks does.
func (tool *tripTool) taskRequest(r *rendezvous.TaskRound, before tripReply, answers mcp.InputResponseMap) tripReply {
	return tool.round(rendezvous.WithTaskRound(context.Background(), r), "", before.state, answers)
}

func TestAPolicyForTasksNamesOneWay(t *testing.T) {
	rt := newTripRuntime(t, nil)
	style := guardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "", nil })
	for explanation, p := range map[string]mrtr.TaskPolicy{
		"two ways":          {AtOnce: true, Detached: true},
		"two others":        {After: time.Second, Detached: true},
		"negative":          {After: -1},
		"required, no way":  {Required: true},
		"at once and later": {AtOnce: true, After: time.Second},
	} {
		require.Panics(t, func() { mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: p}) }, explanation)
	}
	for _, p := range []mrtr.TaskPolicy{{}, {AtOnce: true}, {After: 1}, {Detached: true}, {Detached: true, Required: true}} {
		require.NotPanics(t, func() { mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: p}) })
	}
	prompt := mrtr.Native(func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return nil, nil, nil
	})
	require.Panics(t, func() { mrtr.Prompt(rt, prompt, &mrtr.HandlerOptions{Task: taskPolicy}) }, "a prompt is no task")
}

func TestAToolThatRequiresTasksRefusesTheOthers(t *testing.T) {
	rt := newTripRuntime(t, nil)
	entered := false
	style := guardedTrip(func(context.Context, *mrtr.Call) (string, error) { entered = true; return "", nil })
	tool := &tripTool{rt: rt, handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true, Required: true}})}
	require.ErrorContains(t, tool.begin().err, "Missing required client capability")
	require.False(t, entered)
}

// The first request of a call that may become a task is answered without the handler. The
// handler's own first round has a state, so that with a store it runs once.
func TestTheFirstRoundOfATaskHasAState(t *testing.T) {
	cells := 0
	eachTaskMemory(t, func(t *testing.T, newRuntime func(testing.TB) *mrtr.Runtime) {
		for name := range stopStyles(&deeds{}, &undone{}, nil) {
			cells++
			t.Run(name, func(t *testing.T) {
				var did deeds
				var un undone
				rt := newRuntime(t)
				tool := newTaskTrip(rt, stopStyles(&did, &un, nil)[name])
				first := rendezvous.NewTaskRound(false)
				empty := tool.taskRequest(first, tripReply{}, nil)
				require.NoError(t, empty.err)
				require.Empty(t, empty.asks)
				require.NotEmpty(t, empty.state)
				require.Equal(t, rendezvous.TaskPolicy{AtOnce: true}, first.Policy())
				require.Zero(t, did.count("reserve"))
				last := tool.taskRequest(rendezvous.NewTaskRound(false), empty, nil)
				require.Equal(t, []string{"q"}, last.asks)
				if remembers, _, _ := rt.Remembers(); remembers != nil {
					require.Equal(t, last, tool.taskRequest(rendezvous.NewTaskRound(false), empty, nil))
				}
				for last.asks != nil {
					last = tool.taskRequest(rendezvous.NewTaskRound(false), last, accepting(last, "x"))
					require.NoError(t, last.err)
				}
				require.Equal(t, "done", last.plan)
				require.Equal(t, 1, did.count("reserve"))
				require.Empty(t, un.all())
			})
		}
	})
	require.Equal(t, 10, cells)
	t.Logf("%d cells", cells)
}

// A task that is cancelled while it waits is ended by one more round, which undoes the effects
// of the call. With a store that happens once, however often it is asked for.
func TestATaskIsCancelledWhileItWaits(t *testing.T) {
	cells := 0
	eachTaskMemory(t, func(t *testing.T, newRuntime func(testing.TB) *mrtr.Runtime) {
		for name := range stopStyles(&deeds{}, &undone{}, nil) {
			for answered := range 3 {
				cells++
				t.Run(name, func(t *testing.T) {
					var did deeds
					var un undone
					rt := newRuntime(t)
					tool := newTaskTrip(rt, stopStyles(&did, &un, nil)[name])
					last := tool.taskRequest(rendezvous.NewTaskRound(false), tripReply{}, nil)
					for range answered {
						last = tool.taskRequest(rendezvous.NewTaskRound(false), last, accepting(last, "x"))
						require.NoError(t, last.err)
					}
					ending := rendezvous.NewTaskRound(true)
					end := tool.taskRequest(ending, last, nil)
					ended(t, end.err, mrtr.Cancelled)
					require.Contains(t, end.err.Error(), "the task was cancelled")
					require.True(t, ending.Ended())
					want := [][]string{nil, {"reserve: cancelled"}, {"pay: cancelled", "reserve: cancelled"}}[answered]
					require.Equal(t, want, un.all())
					if remembers, _, _ := rt.Remembers(); remembers != nil {
						require.EqualError(t, tool.taskRequest(rendezvous.NewTaskRound(true), last, nil).err, end.err.Error())
						require.Equal(t, want, un.all())
					}
				})
			}
		}
	})
	require.Equal(t, 30, cells)
	t.Logf("%d cells", cells)
}

// A task that is cancelled at work cancels its handler's context. The call ends when the
// handler returns, and is undone then.
func TestATaskIsCancelledAtWork(t *testing.T) {
	cells := 0
	for _, obeys := range []bool{true, false} {
		eachTaskMemory(t, func(t *testing.T, newRuntime func(testing.TB) *mrtr.Runtime) {
			for name := range everyStyle(around(nil)) {
				cells++
				inBubble(t, name, func(t *testing.T) {
					var did deeds
					var un undone
					styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
						once(s, "reserve", did.do("reserve"))
						s.OnStop("reserve", func(_ context.Context, _ string, err error) error { un.note("reserve", err); return nil })
						select {
						case <-s.ctx.Done():
							if obeys {
								return tripOut{}, s.ctx.Err()
							}
						case <-time.After(time.Hour):
						}
						return tripOut{Plan: "done"}, nil
					})
					tool := newTaskTrip(newRuntime(t), styles[name])
					last := tool.taskRequest(rendezvous.NewTaskRound(false), tripReply{}, nil)
					round := rendezvous.NewTaskRound(false)
					done := underWay(func() tripReply { return tool.taskRequest(round, last, nil) })
					synctest.Wait()
					require.Equal(t, 1, did.count("reserve"))
					round.Cancel()
					end := <-done
					if !obeys {
						require.Equal(t, tripReply{plan: "done"}, end)
						require.Empty(t, un.all())
						return
					}
					ended(t, end.err, mrtr.Cancelled)
					require.True(t, round.Ended())
					require.Equal(t, []string{"reserve: cancelled"}, un.all())
					require.Equal(t, []string{"reserve"}, ended(t, end.err, mrtr.Cancelled).Undone)
				})
			}
		})
	}
	require.Equal(t, 16, cells)
	t.Logf("%d cells", cells)
}

// A round that was cancelled and cut off is ended by whoever takes the task over, with the
// answers that the round had.
func TestATaskIsEndedAfterItsInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		var un undone
		records := store.NewMemory(nil)
		style := stopStyles(&did, &un, nil)["journal"]
		first, second := newInstance(records, afterClaim), newInstance(records, "")
		tool := newTaskTrip(newTripRuntime(t, &mrtr.Options{Store: first, Observer: first}), style)
		other := newTaskTrip(newTripRuntime(t, &mrtr.Options{Store: second}), style)
		last := tool.taskRequest(rendezvous.NewTaskRound(false), tripReply{}, nil)
		last = other.taskRequest(rendezvous.NewTaskRound(false), last, nil)
		require.Equal(t, []string{"q"}, last.asks)
		left := underWay(func() tripReply { return tool.taskRequest(rendezvous.NewTaskRound(false), last, accepting(last, "x")) })
		<-first.stopped
		end := other.taskRequest(rendezvous.NewTaskRound(true), last, accepting(last, "x"))
		ended(t, end.err, mrtr.Cancelled)
		require.Equal(t, []string{"reserve: cancelled"}, un.all())
		first.goOn()
		require.EqualError(t, (<-left).err, end.err.Error())
		require.Zero(t, did.count("pay"))
	})
}

func TestDetachIsAStepOfNoShape(t *testing.T) {
	list := func(detaches bool) tripStyle {
		var b tripSteps
		mrtr.AskQuestion(&b, "q", text("q"))
		if detaches {
			b.Detach()
		}
		mrtr.AskQuestion(&b, "r", text("r"))
		b.End(ends("done"))
		return mustBuild(t, &b)
	}
	rt := newTripRuntime(t, nil)
	before := newTaskTrip(rt, list(false))
	last := before.taskRequest(rendezvous.NewTaskRound(false), tripReply{}, nil)
	last = before.taskRequest(rendezvous.NewTaskRound(false), last, nil)
	require.Equal(t, []string{"q"}, last.asks)

	tool := newTaskTrip(newTripRuntime(t, nil), list(true))
	round := rendezvous.NewTaskRound(false)
	last = tool.taskRequest(round, last, accepting(last, "x"))
	require.Equal(t, []string{"r"}, last.asks)
	select {
	case <-round.Detached():
	default:
		require.Fail(t, "the call does not become a task")
	}
}
