package linear_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
)

// twoStops asks twice, with an effect between the questions and one before.
func twoStops(did *kit.Deeds) linear.Func[kit.In, kit.Out] {
	return kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		defer did.Note("unwound")
		kit.Once(s, "start", did.Do("start"))
		first := kit.Ask(s, kit.Text("first"))
		kit.Once(s, "middle", did.Do("middle"))
		return kit.Out{Plan: first + " " + kit.Ask(s, kit.Text("second"))}, nil
	})
}

// byWho takes the caller from the arguments.
func byWho(_ context.Context, req mcp.Request) (string, error) {
	arguments := string(req.(*mcp.CallToolRequest).Params.Arguments)
	return strings.TrimSuffix(strings.TrimPrefix(arguments, `{"who":"`), `"}`), nil
}

func TestFramesAreCapped(t *testing.T) {
	var did kit.Deeds
	rt := kit.TripRuntime(t, &mrtr.Options{Principal: byWho, Limits: mrtr.Limits{MaxFrames: 12}})
	tool := kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "")
	begin := func(who string) kit.Reply { return tool.Round(t.Context(), who, "", nil) }
	ann := begin("ann")
	for range 9 {
		require.NoError(t, begin("ann").Err)
	}
	require.NoError(t, ann.Err)
	busy := kit.Ended(t, begin("ann").Err, mrtr.Busy, "ten of one principal are enough")
	require.Equal(t, "10", busy.Detail)
	require.EqualError(t, busy, "Too many calls are waiting for answers (limit 10). Try again later.")
	require.Equal(t, 10, did.Count("start"), "a call that is refused has done nothing")

	require.NoError(t, begin("bob").Err, "another principal has places of its own")
	require.NoError(t, begin("").Err, "callers nobody knows share the total alone")
	require.Equal(t, "12", kit.Ended(t, begin("").Err, mrtr.Busy, "twelve in all are enough").Detail)

	second := tool.Round(t.Context(), "ann", ann.State, kit.Accepting(ann, "x"))
	require.NoError(t, second.Err, "a call that has its place keeps it until its end")
	last := tool.Round(t.Context(), "ann", second.State, kit.Accepting(second, "y"))
	require.Equal(t, "x y", last.Plan)
	require.NoError(t, begin("ann").Err, "and frees it then")
	kit.Ended(t, begin("eve").Err, mrtr.Busy)
	require.Equal(t, 12, rt.Stats().Held)
}

func TestFramesAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		var log kit.Recorder
		rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}, Listener: observe.With(&log)})
		tool := kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "")
		old := tool.Begin()
		time.Sleep(40 * time.Second)
		young := tool.Begin()
		time.Sleep(21 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, did.Count("unwound"), "the older one's time is up")
		require.Equal(t, []string{"no answer came in time (effects: true)"}, log.Abandoned())
		gone := kit.Ended(t, tool.Answer(old, "x").Err, mrtr.FrameGone)
		require.EqualError(t, gone, "This call's frame is gone: it was held by a server that no longer has it. \"start\" was done, and perhaps more: do not call the tool again without checking.")

		young = tool.Answer(young, "x")
		require.NoError(t, young.Err, "the younger one goes on")
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, did.Count("unwound"), "and waits as long again for its next answer")

		young = tool.Round(t.Context(), "", young.State, nil)
		require.NoError(t, young.Err, "asked again, without the handler")
		time.Sleep(59 * time.Second)
		require.Equal(t, "x y", tool.Answer(young, "y").Plan, "which is not idle either")
		require.True(t, holdsNothing(rt))
	})
}

// A state that cannot be sealed leaves no frame that nobody can find.
func TestFramesAreNotLeftBehindByAFailedRound(t *testing.T) {
	var did kit.Deeds
	t.Run("a state that is too large", func(t *testing.T) {
		rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 16}})
		kit.Ended(t, kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "").Begin().Err, mrtr.LimitExceeded)
		kit.Soon(t, func() bool { return holdsNothing(rt) }, "nothing is held")
	})
	t.Run("a decline after a missing answer", func(t *testing.T) {
		rt := kit.TripRuntime(t, nil)
		tool := kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "")
		asked := tool.Begin()
		again := tool.Round(t.Context(), "", asked.State, nil)
		kit.Ended(t, tool.Round(t.Context(), "", again.State, kit.Declining(again)).Err, mrtr.Declined)
		kit.Soon(t, func() bool { return holdsNothing(rt) }, "nothing is held")
	})
}

// A panic of a handler that nobody waits for is not lost: an operator reads it.
func TestFramesReportAPanicOnTheirWayOut(t *testing.T) {
	var log kit.Recorder
	rt := kit.TripRuntime(t, &mrtr.Options{Listener: observe.With(&log)})
	tool := kit.NewTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
		defer func() { panic("the door jams") }()
		_, err := linear.Ask(ctx, c, kit.Text("first"))
		return kit.Out{}, err
	}), "")
	require.NoError(t, tool.Begin().Err)
	require.NoError(t, rt.Close())
	require.Equal(t, []string{"the server is shutting down (effects: false)"}, log.Abandoned())
	var errs []error
	for _, e := range log.All() {
		errs = append(errs, e.Err)
	}
	require.Equal(t, "the door jams", kit.PanicOf(t, errors.Join(errs...)).Value)
}

func TestFramesAfterClose(t *testing.T) {
	var did kit.Deeds
	rt := kit.TripRuntime(t, nil)
	tool := kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "")
	asked := tool.Begin()
	require.NoError(t, rt.Close())
	require.Equal(t, 1, did.Count("unwound"), "Close waits for deferred functions")
	kit.Ended(t, tool.Answer(asked, "x").Err, mrtr.FrameGone)
	kit.Code(t, tool.Begin().Err, -31001)
	require.NoError(t, rt.Close(), "closing twice is harmless")
}

// A handler that heeds nothing does not keep Close for ever.
func TestFramesThatDoNotHeedTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		rt, err := mrtr.New(nil)
		require.NoError(t, err)
		tool := kit.NewTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
			defer func() { <-release }()
			_, err := linear.Ask(ctx, c, kit.Text("first"))
			return kit.Out{}, err
		}), "")
		require.NoError(t, tool.Begin().Err)
		began := time.Now()
		const left = "mrtr: Close: 1 handlers still running 10s after cancellation"
		require.EqualError(t, rt.Close(), left)
		require.EqualError(t, rt.Close(), left, "and does not wait again")
		require.Equal(t, 10*time.Second, time.Since(began))
		close(release)
		synctest.Wait()
		require.NoError(t, rt.Close(), "now it has")
	})
}

func TestFramesAreCappedInBytes(t *testing.T) {
	var did kit.Deeds
	rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrameBytes: 10_000}})
	tool := kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "")
	begin := func(who string) kit.Reply { return tool.Round(t.Context(), who, "", nil) }
	long := strings.Repeat("x", 5_000)
	first := begin(long)
	require.NoError(t, first.Err)
	busy := kit.Ended(t, begin(long).Err, mrtr.Busy)
	require.EqualError(t, busy, "Too many calls are waiting for answers (limit 10000 bytes). Try again later.")
	require.Equal(t, 1, did.Count("start"), "a call that is refused has done nothing")
	second := tool.Round(t.Context(), long, first.State, kit.Accepting(first, "x"))
	require.Equal(t, "x y", tool.Round(t.Context(), long, second.State, kit.Accepting(second, "y")).Plan)
	require.NoError(t, begin(long).Err, "the call that has ended holds nothing")
}

// A handler that is held holds on to its arguments, and not to the request that
// brought them: its round is over.
func TestFramesForgetTheRequest(t *testing.T) {
	var held *mrtr.Call
	rt := kit.TripRuntime(t, nil)
	tool := kit.NewTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
		held = c
		require.NotNil(t, c.Request())
		_, err := linear.Ask(ctx, c, kit.Text("first"))
		require.NotNil(t, c.Request())
		return kit.Out{}, err
	}), "")
	first := tool.Begin()
	require.Nil(t, held.Request())
	require.NoError(t, tool.Answer(first, "x").Err)
}

// Where the frame is gone nobody is asked again for what nothing waits for.
func TestFramesThatAreGoneAskNobody(t *testing.T) {
	var did kit.Deeds
	one := kit.NewTrip(kit.TripRuntime(t, nil), linear.Coroutine(twoStops(&did)), "")
	other := kit.NewTrip(kit.TripRuntime(t, nil), linear.Coroutine(twoStops(&did)), "")
	first := one.Begin()
	second := other.Round(t.Context(), "", first.State, nil)
	kit.Ended(t, second.Err, mrtr.FrameGone)
	require.Empty(t, second.Asks)
}

// holdsNothing reports whether no handler is held, and none runs.
func holdsNothing(rt *mrtr.Runtime) bool {
	s := rt.Stats()
	return s.Held+s.HeldBytes+s.Running == 0
}

// drained begins to drain, and returns once that waits or has ended.
func drained(ctx context.Context, rt *mrtr.Runtime) <-chan error {
	end := make(chan error, 1)
	go func() { end <- rt.Drain(ctx) }()
	synctest.Wait()
	return end
}

// goesOn answers both questions of twoStops.
func goesOn(t *testing.T, tool *kit.Trip, first kit.Reply) {
	t.Helper()
	second := tool.Round(t.Context(), "", first.State, kit.Accepting(first, "x"))
	require.NoError(t, second.Err)
	last := tool.Round(t.Context(), "", second.State, kit.Accepting(second, "y"))
	require.Equal(t, kit.Reply{Plan: "x y"}, last)
}

func TestDrainLetsHeldHandlersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		rt := kit.TripRuntime(t, nil)
		tool := kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "")
		held := tool.Begin()
		end := drained(t.Context(), rt)
		require.Empty(t, end, "a handler is held")
		require.True(t, rt.Stats().Draining)
		kit.Code(t, tool.Begin().Err, -31001)
		require.Equal(t, 1, did.Count("start"), "a call that is refused has done nothing")
		time.Sleep(5 * time.Minute)
		goesOn(t, tool, held)
		synctest.Wait()
		require.Len(t, end, 1)
		require.NoError(t, <-end)
		require.True(t, rt.Stats().Closed)
	})
}

// A call that was let in before the drain, and has not asked yet, may ask.
func TestDrainWaitsForARoundThatWillBeHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := kit.TripRuntime(t, nil)
		tool := kit.NewTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, in kit.In) (kit.Out, error) {
			time.Sleep(time.Minute)
			var did kit.Deeds
			return twoStops(&did)(ctx, c, in)
		}), "")
		first := kit.UnderWay(func() kit.Reply { return tool.Begin() })
		synctest.Wait()
		end := drained(t.Context(), rt)
		require.Empty(t, end)
		reply := <-first
		require.NoError(t, reply.Err)
		goesOn(t, tool, reply)
		require.NoError(t, <-end)
	})
}

// A Resumable handler goes on from its journal at another instance, unless the keys
// are those of this process.
func TestDrainMovesResumableCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		rt := kit.TripRuntime(t, nil)
		held := kit.NewTrip(rt, linear.Resumable(twoStops(&did)), "").Begin()
		require.NoError(t, <-drained(t.Context(), rt))
		goesOn(t, kit.NewTrip(kit.TripRuntime(t, nil), linear.Resumable(twoStops(&did)), ""), held)
		require.Equal(t, 1, did.Count("start"), "the other instance remembers it")

		rt = kit.TripRuntime(t, &mrtr.Options{State: &statecodec.Options{Ephemeral: true}})
		tool := kit.NewTrip(rt, linear.Resumable(twoStops(&did)), "")
		held = tool.Begin()
		end := drained(t.Context(), rt)
		require.Empty(t, end, "nobody else can go on with it")
		goesOn(t, tool, held)
		require.NoError(t, <-end)
	})
}

func TestDrainUnwindsTheRestWhereItsTimeIsUp(t *testing.T) {
	kit.Differs(t, "what an abandoned call did is undone by the store's time")
	synctest.Test(t, func(t *testing.T) {
		var stopped error
		rt := kit.TripRuntime(t, nil)
		var did kit.Deeds
		kit.NewTrip(rt, linear.Coroutine(twoStops(&did)).OnStop(mrtr.UndoOf("start", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
			stopped = u.Why
			return nil
		})), "").Begin()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := rt.Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "mrtr: Drain: 1 handlers held and 0 requests under way: context deadline exceeded")
		synctest.Wait()
		kit.Ended(t, stopped, mrtr.ShuttingDown)
		require.Zero(t, rt.Stats().Held)
	})
}

// Calls of the styles that hold nothing are served until nothing is held. Then all are
// refused, and can be sent elsewhere.
func TestDrainServesTheOtherStyles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		rt := kit.TripRuntime(t, nil)
		coroutine := kit.NewTrip(rt, linear.Coroutine(twoStops(&did)), "")
		native := &kit.Trip{Handler: mrtr.Tool(rt, kit.GuardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "", nil }, "seat"), &mrtr.HandlerOptions{Audience: "native"})}
		held := coroutine.Begin()
		end := drained(t.Context(), rt)
		native.Answer(native.Begin(), "window")
		goesOn(t, coroutine, held)
		require.NoError(t, <-end)
		kit.Code(t, native.Begin().Err, -31001)
	})
}

// Only a call that ends with its held handler is abandoned. A Resumable goes on from its
// journal: after its time, and after a drain or a close, unless the key of its state ends with
// the process.
func TestACallThatGoesOnIsNotAbandoned(t *testing.T) {
	for name, style := range kit.LinearStyles {
		for explanation, end := range map[string]func(*testing.T, *mrtr.Runtime){
			"time is up": func(*testing.T, *mrtr.Runtime) { time.Sleep(2 * time.Minute); synctest.Wait() },
			"closed":     func(t *testing.T, rt *mrtr.Runtime) { require.NoError(t, rt.Close()) },
			"drained": func(t *testing.T, rt *mrtr.Runtime) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_ = rt.Drain(ctx) // a coroutine outlasts it
				require.NoError(t, rt.Close())
			},
		} {
			for _, shared := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					var did kit.Deeds
					var log kit.Recorder
					o := &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}, Listener: observe.With(&log)}
					if !shared {
						o.State = &statecodec.Options{Ephemeral: true}
					}
					rt := kit.TripRuntime(t, o)
					require.NoError(t, kit.NewTrip(rt, style(twoStops(&did)), "").Begin().Err)
					end(t, rt)
					abandoned, released := 1, 0
					switch {
					case name == "journal": // which holds nothing
						abandoned = 0
					case name == "resumable" && (shared || explanation == "time is up"):
						abandoned, released = 0, 1
					}
					require.Len(t, log.Of(observe.CallAbandoned), abandoned, "%s, %s, shared %t", name, explanation, shared)
					require.Len(t, log.Of(observe.FrameReleased), released, "%s, %s, shared %t", name, explanation, shared)
				})
			}
		}
	}
}
