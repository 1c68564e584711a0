package durable_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// undone lists the effects that were undone, each with the reason.
type undone struct {
	mu  sync.Mutex
	log []string
}

// of undoes the effect under a key, and notes its value.
func (u *undone) of(key string) mrtr.Undoing {
	return mrtr.UndoOf(key, func(_ context.Context, _ *mrtr.Call, what mrtr.Undo[string]) error {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.log = append(u.log, what.Value+": "+string(mrtr.ReasonOf(what.Why)))
		return nil
	})
}

func (u *undone) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.log)
}

// bookings is one handler that reserves, asks q, pays, asks r and ends, and that undoes its
// effects, in every style.
func bookings(did *deeds, un *undone) map[string]tripStyle {
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		for _, part := range [][2]string{{"reserve", "q"}, {"pay", "r"}} {
			once(s, part[0], did.do(part[0]))
			ask(s, text(part[1]))
		}
		return tripOut{Plan: "done"}, nil
	})
	var b tripSteps
	for _, part := range [][2]string{{"reserve", "q"}, {"pay", "r"}} {
		steps.Do(&b, part[0], func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do(part[0])(ctx, idem) })
		steps.Always(&b, text(part[1]))
	}
	b.End(ends("done"))
	styles["steps"] = b.MustBuild()
	for name, style := range styles {
		styles[name] = style.OnStop(un.of("reserve"), un.of("pay"))
	}
	return styles
}

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
					o.Durable = durable.In(shared{records}, nil)
				}
				return newTripRuntime(t, o)
			})
		})
	}
}

// taskRequest makes a request as package tasks does.
func (tool *tripTool) taskRequest(ctx context.Context, before tripReply, answers mcp.InputResponseMap) tripReply {
	return tool.round(rendezvous.WithTaskRound(ctx, rendezvous.NewTaskRound()), "", before.state, answers)
}

// taskCancelled is the cause by which a task ends its call.
type taskCancelled struct{}

func (taskCancelled) Error() string { return "cancelled" }
func (taskCancelled) EndsCall() error {
	return &mrtr.Error{Reason: mrtr.Cancelled, Detail: "the task was cancelled"}
}

// cancelled is the context of a request that ends its call.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(taskCancelled{})
	return ctx
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
		for name := range bookings(nil, nil) {
			cells++
			t.Run(name, func(t *testing.T) {
				var did deeds
				var un undone
				rt := newRuntime(t)
				tool := newTaskTrip(rt, bookings(&did, &un)[name])
				first := rendezvous.NewTaskRound()
				empty := tool.round(rendezvous.WithTaskRound(t.Context(), first), "", "", nil)
				require.NoError(t, empty.err)
				require.Empty(t, empty.asks)
				require.NotEmpty(t, empty.state)
				require.Equal(t, rendezvous.TaskPolicy{AtOnce: true}, first.Policy())
				require.Zero(t, did.count("reserve"))
				last := tool.taskRequest(t.Context(), empty, nil)
				require.Equal(t, []string{"q"}, last.asks)
				if durable.Of(rt) != nil {
					require.Equal(t, last, tool.taskRequest(t.Context(), empty, nil))
				}
				for last.asks != nil {
					last = tool.taskRequest(t.Context(), last, accepting(last, "x"))
					require.NoError(t, last.err)
				}
				require.Equal(t, "done", last.plan)
				require.Equal(t, 1, did.count("reserve"))
				require.Empty(t, un.all())
			})
		}
	})
	require.Equal(t, 10, cells)
}

// A task that is cancelled while it waits is ended by one more round, which undoes the effects
// of the call. With a store that happens once, however often it is asked for.
func TestATaskIsCancelledWhileItWaits(t *testing.T) {
	cells := 0
	eachTaskMemory(t, func(t *testing.T, newRuntime func(testing.TB) *mrtr.Runtime) {
		for name := range bookings(nil, nil) {
			for answered := range 3 {
				cells++
				t.Run(name, func(t *testing.T) {
					var did deeds
					var un undone
					rt := newRuntime(t)
					tool := newTaskTrip(rt, bookings(&did, &un)[name])
					last := tool.taskRequest(t.Context(), tripReply{}, nil)
					for range answered {
						last = tool.taskRequest(t.Context(), last, accepting(last, "x"))
						require.NoError(t, last.err)
					}
					end := tool.taskRequest(cancelled(t), last, nil)
					ended(t, end.err, mrtr.Cancelled)
					require.Contains(t, end.err.Error(), "the task was cancelled")
					want := [][]string{nil, {"reserve: cancelled"}, {"pay: cancelled", "reserve: cancelled"}}[answered]
					require.Equal(t, want, un.all())
					if durable.Of(rt) != nil {
						require.EqualError(t, tool.taskRequest(cancelled(t), last, nil).err, end.err.Error())
						require.Equal(t, want, un.all())
					}
				})
			}
		}
	})
	require.Equal(t, 30, cells)
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
					style := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
						once(s, "reserve", did.do("reserve"))
						select {
						case <-s.ctx.Done():
							if obeys {
								return tripOut{}, s.ctx.Err()
							}
						case <-time.After(time.Hour):
						}
						return tripOut{Plan: "done"}, nil
					})[name].OnStop(un.of("reserve"))
					tool := newTaskTrip(newRuntime(t), style)
					last := tool.taskRequest(t.Context(), tripReply{}, nil)
					ctx, cancel := context.WithCancelCause(t.Context())
					done := underWay(func() tripReply { return tool.taskRequest(ctx, last, nil) })
					synctest.Wait()
					require.Equal(t, 1, did.count("reserve"))
					cancel(taskCancelled{})
					end := <-done
					if !obeys {
						require.Equal(t, tripReply{plan: "done"}, end)
						require.Empty(t, un.all())
						return
					}
					require.Equal(t, []string{"reserve"}, ended(t, end.err, mrtr.Cancelled).Undone)
					require.Equal(t, []string{"reserve: cancelled"}, un.all())
				})
			}
		})
	}
	require.Equal(t, 16, cells)
}

// A round that was cancelled and cut off is ended by whoever takes the task over, with the
// answers that the round had.
func TestATaskIsEndedAfterItsInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		var un undone
		records := store.NewMemory(nil)
		style := bookings(&did, &un)["journal"]
		first, second := newInstance(records, afterClaim), newInstance(records, "")
		tool := newTaskTrip(newTripRuntime(t, &mrtr.Options{Durable: durable.In(first, nil), Listener: observe.With(first)}), style)
		other := newTaskTrip(newTripRuntime(t, &mrtr.Options{Durable: durable.In(second, nil)}), style)
		last := tool.taskRequest(t.Context(), tripReply{}, nil)
		last = other.taskRequest(t.Context(), last, nil)
		require.Equal(t, []string{"q"}, last.asks)
		left := underWay(func() tripReply { return tool.taskRequest(t.Context(), last, accepting(last, "x")) })
		<-first.stopped
		end := other.taskRequest(cancelled(t), last, accepting(last, "x"))
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
		steps.Always(&b, text("q"))
		if detaches {
			b.Detach()
		}
		steps.Always(&b, text("r"))
		b.End(ends("done"))
		return mustBuild(t, &b)
	}
	before := newTaskTrip(newTripRuntime(t, nil), list(false))
	last := before.taskRequest(t.Context(), tripReply{}, nil)
	last = before.taskRequest(t.Context(), last, nil)
	require.Equal(t, []string{"q"}, last.asks)

	tool := newTaskTrip(newTripRuntime(t, nil), list(true))
	round := rendezvous.NewTaskRound()
	last = tool.round(rendezvous.WithTaskRound(t.Context(), round), "", last.state, accepting(last, "x"))
	require.Equal(t, []string{"r"}, last.asks)
	select {
	case <-round.Detached():
	default:
		require.Fail(t, "the call does not become a task")
	}
}
