package durable_test

import (
	"context"
	"errors"
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
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
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
		var why *mrtr.Error
		errors.As(what.Why, &why)
		u.log = append(u.log, what.Value+": "+string(why.Reason))
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
func bookings(did *kit.Deeds, un *undone) map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		for _, part := range [][2]string{{"reserve", "q"}, {"pay", "r"}} {
			kit.Once(s, part[0], did.Do(part[0]))
			kit.Ask(s, kit.Text(part[1]))
		}
		return kit.Out{Plan: "done"}, nil
	})
	var b kit.Steps
	for _, part := range [][2]string{{"reserve", "q"}, {"pay", "r"}} {
		steps.Do(&b, part[0], func(ctx context.Context, _ *kit.At, idem string) (string, error) { return did.Do(part[0])(ctx, idem) })
		steps.Always(&b, kit.Text(part[1]))
	}
	b.End(kit.End("done"))
	styles["steps"] = b.MustBuild()
	for name, style := range styles {
		styles[name] = style.OnStop(un.of("reserve"), un.of("pay"))
	}
	return styles
}

var taskPolicy = mrtr.TaskPolicy{AtOnce: true}

// newTaskTrip is a tool whose calls become tasks.
func newTaskTrip(rt *mrtr.Runtime, style kit.Style) *kit.Trip {
	return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: taskPolicy})}
}

// eachTaskMemory runs a test without a store, and with one that others share.
func eachTaskMemory(t *testing.T, test func(t *testing.T, rt func(testing.TB) *mrtr.Runtime)) {
	for _, stored := range []bool{false, true} {
		t.Run(map[bool]string{false: "no store", true: "store"}[stored], func(t *testing.T) {
			records := store.NewMemory(nil)
			test(t, func(t testing.TB) *mrtr.Runtime {
				o := &mrtr.Options{}
				if stored {
					o.Durable = durable.In(kit.Shared{Memory: records}, nil)
				}
				return kit.TripRuntime(t, o)
			})
		})
	}
}

func TestAPolicyForTasksNamesOneWay(t *testing.T) {
	rt := kit.TripRuntime(t, nil)
	style := kit.GuardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "", nil })
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
	require.Panics(t, func() { rt.Prompt(prompt, &mrtr.HandlerOptions{Task: taskPolicy}) }, "a prompt is no task")
}

// The state with which a call becomes a task at once is the task's, and opens for as long.
func TestACallThatBecomesATaskOutlivesItsHandlersStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		style := kit.GuardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "done", nil })
		opts := &mrtr.HandlerOptions{Task: taskPolicy, StateTTL: time.Minute}
		tool := &kit.Trip{Handler: mrtr.Tool(kit.TripRuntime(t, remembering()), style, opts)}
		begun := tool.Round(rendezvous.WithTaskRound(t.Context(), rendezvous.NewTaskRound()), "", "", nil)
		require.NoError(t, begun.Err)
		time.Sleep(5 * time.Minute)
		require.Equal(t, kit.Reply{Plan: "done"}, tool.TaskRound(t.Context(), begun, nil))
	})
}

func TestAToolThatRequiresTasksRefusesTheOthers(t *testing.T) {
	rt := kit.TripRuntime(t, nil)
	entered := false
	style := kit.GuardedTrip(func(context.Context, *mrtr.Call) (string, error) { entered = true; return "", nil })
	tool := &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true, Required: true}})}
	require.ErrorContains(t, tool.Begin().Err, "Missing required client capability")
	require.False(t, entered)
}

// A task that is cancelled at work cancels its handler's context. The call ends when the
// handler returns, and is undone then.
func TestATaskIsCancelledAtWork(t *testing.T) {
	cells := 0
	for _, obeys := range []bool{true, false} {
		eachTaskMemory(t, func(t *testing.T, newRuntime func(testing.TB) *mrtr.Runtime) {
			for name := range kit.EveryStyle(kit.Around(nil)) {
				cells++
				kit.InBubble(t, name, func(t *testing.T) {
					var did kit.Deeds
					var un undone
					style := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
						kit.Once(s, "reserve", did.Do("reserve"))
						select {
						case <-s.Ctx.Done():
							if obeys {
								return kit.Out{}, s.Ctx.Err()
							}
						case <-time.After(time.Hour):
						}
						return kit.Out{Plan: "done"}, nil
					})[name].OnStop(un.of("reserve"))
					tool := newTaskTrip(newRuntime(t), style)
					last := tool.TaskRound(t.Context(), kit.Reply{}, nil)
					ctx, cancel := context.WithCancelCause(t.Context())
					done := kit.UnderWay(func() kit.Reply { return tool.TaskRound(ctx, last, nil) })
					synctest.Wait()
					require.Equal(t, 1, did.Count("reserve"))
					cancel(kit.EndOfTask{})
					end := <-done
					if !obeys {
						require.Equal(t, kit.Reply{Plan: "done"}, end)
						require.Empty(t, un.all())
						return
					}
					require.Equal(t, []string{"reserve"}, kit.Ended(t, end.Err, mrtr.Cancelled).Undone)
					require.Equal(t, []string{"reserve: cancelled"}, un.all())
				})
			}
		})
	}
	require.Equal(t, 16, cells)
}

func TestDetachIsAStepOfNoShape(t *testing.T) {
	list := func(detaches bool) kit.Style {
		var b kit.Steps
		steps.Always(&b, kit.Text("q"))
		if detaches {
			b.Detach()
		}
		steps.Always(&b, kit.Text("r"))
		b.End(kit.End("done"))
		return kit.Build(t, &b)
	}
	before := newTaskTrip(kit.TripRuntime(t, nil), list(false))
	last := before.TaskRound(t.Context(), kit.Reply{}, nil)
	last = before.TaskRound(t.Context(), last, nil)
	require.Equal(t, []string{"q"}, last.Asks)

	tool := newTaskTrip(kit.TripRuntime(t, nil), list(true))
	round := rendezvous.NewTaskRound()
	last = tool.Round(rendezvous.WithTaskRound(t.Context(), round), "", last.State, kit.Accepting(last, "x"))
	require.Equal(t, []string{"r"}, last.Asks)
	select {
	case <-round.Detached():
	default:
		require.Fail(t, "the call does not become a task")
	}
}
