package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
)

// twoStops asks twice, with an effect between the questions and one before.
func twoStops(did *deeds) linear.Func[tripIn, tripOut] {
	return linearOf(func(s *stage, _ tripIn) (tripOut, error) {
		defer did.note("unwound")
		once(s, "start", did.do("start"))
		first := ask(s, text("first"))
		once(s, "middle", did.do("middle"))
		return tripOut{Plan: first + " " + ask(s, text("second"))}, nil
	})
}

// byWho takes the caller from the arguments.
func byWho(_ context.Context, req mcp.Request) (string, error) {
	arguments := string(req.(*mcp.CallToolRequest).Params.Arguments)
	return strings.TrimSuffix(strings.TrimPrefix(arguments, `{"who":"`), `"}`), nil
}

func TestFramesAreCapped(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, &mrtr.Options{Principal: byWho, Limits: mrtr.Limits{MaxFrames: 12}})
	tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
	begin := func(who string) tripReply { return tool.round(t.Context(), who, "", nil) }
	ann := begin("ann")
	for range 9 {
		require.NoError(t, begin("ann").err)
	}
	require.NoError(t, ann.err)
	busy := ended(t, begin("ann").err, mrtr.Busy, "ten of one principal are enough")
	require.Equal(t, "10", busy.Detail)
	require.EqualError(t, busy, "Too many calls are waiting for answers (limit 10). Try again later.")
	require.Equal(t, 10, did.count("start"), "a call that is refused has done nothing")

	require.NoError(t, begin("bob").err, "another principal has places of its own")
	require.NoError(t, begin("").err, "callers nobody knows share the total alone")
	require.Equal(t, "12", ended(t, begin("").err, mrtr.Busy, "twelve in all are enough").Detail)

	second := tool.round(t.Context(), "ann", ann.state, accepting(ann, "x"))
	require.NoError(t, second.err, "a call that has its place keeps it until its end")
	last := tool.round(t.Context(), "ann", second.state, accepting(second, "y"))
	require.Equal(t, "x y", last.plan)
	require.NoError(t, begin("ann").err, "and frees it then")
	ended(t, begin("eve").err, mrtr.Busy)
	require.Equal(t, 12, rt.Stats().Held)
}

// Two calls that were let in while there was a place, and then both need it:
// one of them is refused, and its error says that an effect has run.
func TestFramesAreCappedWhereTheyPark(t *testing.T) {
	var did deeds
	var both sync.WaitGroup
	both.Add(2)
	rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrames: 1}})
	tool := newTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, in tripIn) (tripOut, error) {
		both.Done()
		both.Wait()
		return twoStops(&did)(ctx, c, in)
	}), "")
	replies := make(chan tripReply, 2)
	for range 2 {
		go func() { replies <- tool.begin() }()
	}
	err := errors.Join((<-replies).err, (<-replies).err)
	ended(t, err, mrtr.Busy)
	require.Equal(t, "applied", effectOf(err))
	require.EqualError(t, err, `Too many calls are waiting for answers (limit 1). "start" was done: do not call the tool again without checking.`)
	soon(t, func() bool { return rt.Stats().Held == 1 && rt.Stats().Running == 0 }, "one is held")
}

func TestFramesAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		var log recorder
		rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}, Listener: observe.With(&log)})
		tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
		old := tool.begin()
		time.Sleep(40 * time.Second)
		young := tool.begin()
		time.Sleep(21 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, did.count("unwound"), "the older one's time is up")
		require.Equal(t, []string{"no answer came in time (effects: true)"}, log.abandoned())
		gone := ended(t, tool.answer(old, "x").err, mrtr.FrameGone)
		require.EqualError(t, gone, "This call's frame is gone: it was held by a server that no longer has it. \"start\" was done, and perhaps more: do not call the tool again without checking.")

		young = tool.answer(young, "x")
		require.NoError(t, young.err, "the younger one goes on")
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, did.count("unwound"), "and waits as long again for its next answer")

		young = tool.round(t.Context(), "", young.state, nil)
		require.NoError(t, young.err, "asked again, without the handler")
		time.Sleep(59 * time.Second)
		require.Equal(t, "x y", tool.answer(young, "y").plan, "which is not idle either")
		require.True(t, holdsNothing(rt))
	})
}

// A frame is found by the state of its last round alone.
func TestFramesAreFoundByTheirLastRound(t *testing.T) {
	var did deeds
	tool := serveTrip(t, linear.Coroutine(twoStops(&did)))
	first := tool.begin()
	again := tool.round(t.Context(), "", first.state, nil) // the answer is missing
	second := tool.answer(again, "x")
	require.Equal(t, []string{"second"}, second.asks)
	for _, old := range []tripReply{first, again} {
		ended(t, tool.answer(old, "z").err, mrtr.FrameGone, "an old round's answer is not taken for the new question's")
	}
	require.Equal(t, "x y", tool.answer(second, "y").plan)
	ended(t, tool.answer(second, "z").err, mrtr.FrameGone)
	require.Equal(t, 1, did.count("middle"))
}

func TestFramesResumeOnceWhenTwoRetriesRace(t *testing.T) {
	var did deeds
	tool := serveTrip(t, linear.Coroutine(twoStops(&did)))
	const races = 50
	for range races {
		asked := tool.begin()
		replies := make([]tripReply, 2)
		var both sync.WaitGroup
		for i := range replies {
			both.Go(func() { replies[i] = tool.answer(asked, fmt.Sprint(i)) })
		}
		both.Wait()
		winners := 0
		for i, reply := range replies {
			if reply.err == nil {
				winners++
				require.Equal(t, fmt.Sprint(i)+" end", tool.answer(reply, "end").plan, "with the answer it brought")
				continue
			}
			ended(t, reply.err, mrtr.FrameGone)
		}
		require.Equal(t, 1, winners)
	}
	require.Equal(t, races, did.count("middle"))
}

// A state that cannot be sealed leaves no frame that nobody can find.
func TestFramesAreNotLeftBehindByAFailedRound(t *testing.T) {
	var did deeds
	t.Run("a state that is too large", func(t *testing.T) {
		rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 16}})
		ended(t, newTrip(rt, linear.Coroutine(twoStops(&did)), "").begin().err, mrtr.LimitExceeded)
		soon(t, func() bool { return holdsNothing(rt) }, "nothing is held")
	})
	t.Run("a decline after a missing answer", func(t *testing.T) {
		rt := newTripRuntime(t, nil)
		tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
		asked := tool.begin()
		again := tool.round(t.Context(), "", asked.state, nil)
		ended(t, tool.round(t.Context(), "", again.state, declining(again)).err, mrtr.Declined)
		soon(t, func() bool { return holdsNothing(rt) }, "nothing is held")
	})
}

// A panic of a handler that nobody waits for is not lost: an operator reads it.
func TestFramesReportAPanicOnTheirWayOut(t *testing.T) {
	var log recorder
	rt := newTripRuntime(t, &mrtr.Options{Listener: observe.With(&log)})
	tool := newTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		defer func() { panic("the door jams") }()
		_, err := linear.Ask(ctx, c, text("first"))
		return tripOut{}, err
	}), "")
	require.NoError(t, tool.begin().err)
	require.NoError(t, rt.Close())
	require.Equal(t, []string{"the server is shutting down (effects: false)"}, log.abandoned())
	var errs []error
	for _, e := range log.all() {
		errs = append(errs, e.Err)
	}
	require.Equal(t, "the door jams", panicOf(t, errors.Join(errs...)).Value)
}

func TestFramesAfterClose(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, nil)
	tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
	asked := tool.begin()
	require.NoError(t, rt.Close())
	require.Equal(t, 1, did.count("unwound"), "Close waits for deferred functions")
	ended(t, tool.answer(asked, "x").err, mrtr.FrameGone)
	requireCode(t, tool.begin().err, -31001)
	require.NoError(t, rt.Close(), "closing twice is harmless")
}

// A handler that heeds nothing does not keep Close for ever.
func TestFramesThatDoNotHeedTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		rt, err := mrtr.New(nil)
		require.NoError(t, err)
		tool := newTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			defer func() { <-release }()
			_, err := linear.Ask(ctx, c, text("first"))
			return tripOut{}, err
		}), "")
		require.NoError(t, tool.begin().err)
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

// Nothing outlives a runtime: no goroutine, no timer, no entry in a table.
func TestFramesLeaveNothingBehind(t *testing.T) {
	const frames = 70
	before := runtime.NumGoroutine()
	var did deeds
	rt := newTripRuntime(t, &mrtr.Options{Principal: byWho})
	tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
	var failed error
	for i := range frames {
		who := fmt.Sprint(i % 7)
		asked := tool.round(t.Context(), who, "", nil)
		failed = errors.Join(failed, asked.err)
		if i%3 == 0 {
			failed = errors.Join(failed, tool.round(t.Context(), who, asked.state, accepting(asked, "x")).err)
		}
	}
	require.NoError(t, failed)
	require.Equal(t, frames, rt.Stats().Held)
	require.GreaterOrEqual(t, runtime.NumGoroutine(), frames)
	require.NoError(t, rt.Close())
	require.True(t, holdsNothing(rt))
	require.Equal(t, frames, did.count("unwound"))
	soon(t, func() bool { return runtime.NumGoroutine() <= before }, "every goroutine ends")
}

func TestFramesAreCappedInBytes(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrameBytes: 10_000}})
	tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
	begin := func(who string) tripReply { return tool.round(t.Context(), who, "", nil) }
	long := strings.Repeat("x", 5_000)
	first := begin(long)
	require.NoError(t, first.err)
	busy := ended(t, begin(long).err, mrtr.Busy)
	require.EqualError(t, busy, "Too many calls are waiting for answers (limit 10000 bytes). Try again later.")
	require.Equal(t, 1, did.count("start"), "a call that is refused has done nothing")
	second := tool.round(t.Context(), long, first.state, accepting(first, "x"))
	require.Equal(t, "x y", tool.round(t.Context(), long, second.state, accepting(second, "y")).plan)
	require.NoError(t, begin(long).err, "the call that has ended holds nothing")
}

// A handler that is held holds on to its arguments, and not to the request that
// brought them: its round is over.
func TestFramesForgetTheRequest(t *testing.T) {
	var held *mrtr.Call
	rt := newTripRuntime(t, nil)
	tool := newTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		held = c
		require.NotNil(t, c.Request())
		_, err := linear.Ask(ctx, c, text("first"))
		require.NotNil(t, c.Request())
		return tripOut{}, err
	}), "")
	first := tool.begin()
	require.Nil(t, held.Request())
	require.NoError(t, tool.answer(first, "x").err)
}

// Where the frame is gone nobody is asked again for what nothing waits for.
func TestFramesThatAreGoneAskNobody(t *testing.T) {
	var did deeds
	one := newTrip(newTripRuntime(t, nil), linear.Coroutine(twoStops(&did)), "")
	other := newTrip(newTripRuntime(t, nil), linear.Coroutine(twoStops(&did)), "")
	first := one.begin()
	second := other.round(t.Context(), "", first.state, nil)
	ended(t, second.err, mrtr.FrameGone)
	require.Empty(t, second.asks)
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
func goesOn(t *testing.T, tool *tripTool, first tripReply) {
	t.Helper()
	second := tool.round(t.Context(), "", first.state, accepting(first, "x"))
	require.NoError(t, second.err)
	last := tool.round(t.Context(), "", second.state, accepting(second, "y"))
	require.Equal(t, tripReply{plan: "x y"}, last)
}

func TestDrainLetsHeldHandlersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, nil)
		tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
		held := tool.begin()
		end := drained(t.Context(), rt)
		require.Empty(t, end, "a handler is held")
		require.True(t, rt.Stats().Draining)
		requireCode(t, tool.begin().err, -31001)
		require.Equal(t, 1, did.count("start"), "a call that is refused has done nothing")
		time.Sleep(5 * time.Minute)
		goesOn(t, tool, held)
		synctest.Wait()
		require.Len(t, end, 1)
		require.NoError(t, <-end)
		require.True(t, rt.Stats().Closed)
	})
}

// A handler that nobody answers gets its time, and no more.
func TestDrainWaitsForTheTimeOfAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}})
		newTrip(rt, linear.Coroutine(twoStops(&did)), "").begin()
		end := drained(t.Context(), rt)
		began := time.Now()
		require.NoError(t, <-end)
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, 1, did.count("unwound"))
	})
}

// A call that was let in before the drain, and has not asked yet, may ask.
func TestDrainWaitsForARoundThatWillBeHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := newTripRuntime(t, nil)
		tool := newTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, in tripIn) (tripOut, error) {
			time.Sleep(time.Minute)
			var did deeds
			return twoStops(&did)(ctx, c, in)
		}), "")
		first := underWay(func() tripReply { return tool.begin() })
		synctest.Wait()
		end := drained(t.Context(), rt)
		require.Empty(t, end)
		reply := <-first
		require.NoError(t, reply.err)
		goesOn(t, tool, reply)
		require.NoError(t, <-end)
	})
}

// A Resumable handler goes on from its journal at another instance, unless the keys
// are those of this process.
func TestDrainMovesResumableCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, nil)
		held := newTrip(rt, linear.Resumable(twoStops(&did)), "").begin()
		require.NoError(t, <-drained(t.Context(), rt))
		goesOn(t, newTrip(newTripRuntime(t, nil), linear.Resumable(twoStops(&did)), ""), held)
		require.Equal(t, 1, did.count("start"), "the other instance remembers it")

		rt = newTripRuntime(t, &mrtr.Options{State: &statecodec.Options{Ephemeral: true}})
		tool := newTrip(rt, linear.Resumable(twoStops(&did)), "")
		held = tool.begin()
		end := drained(t.Context(), rt)
		require.Empty(t, end, "nobody else can go on with it")
		goesOn(t, tool, held)
		require.NoError(t, <-end)
	})
}

func TestDrainUnwindsTheRestWhereItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped error
		rt := newTripRuntime(t, nil)
		var did deeds
		newTrip(rt, linear.Coroutine(twoStops(&did)).OnStop(mrtr.UndoOf("start", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
			stopped = u.Why
			return nil
		})), "").begin()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := rt.Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "mrtr: Drain: 1 handlers held and 0 requests under way: context deadline exceeded")
		synctest.Wait()
		ended(t, stopped, mrtr.ShuttingDown)
		require.Zero(t, rt.Stats().Held)
	})
}

// Calls of the styles that hold nothing are served until nothing is held. Then all are
// refused, and can be sent elsewhere.
func TestDrainServesTheOtherStyles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, nil)
		coroutine := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
		native := &tripTool{handler: mrtr.Tool(rt, guardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "", nil }, "seat"), &mrtr.HandlerOptions{Audience: "native"})}
		held := coroutine.begin()
		end := drained(t.Context(), rt)
		native.answer(native.begin(), "window")
		goesOn(t, coroutine, held)
		require.NoError(t, <-end)
		requireCode(t, native.begin().err, -31001)
	})
}

// A legacy client's call is one request, which is let go on to its end: it can be sent to
// nobody else when its user has answered. New ones are refused meanwhile.
func TestDrainWaitsForTheCallsOfLegacyClients(t *testing.T) {
	for name, style := range map[string]mrtr.Style[input, output]{
		"native":  mrtr.Native(twoQuestions("")),
		"journal": linear.Journal(linearOf(func(s *stage, _ input) (output, error) { return output{ask(s, units)}, nil })),
	} {
		t.Run(name, func(t *testing.T) {
			rt, err := mrtr.New(nil)
			require.NoError(t, err)
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, nil))
			asked, answer := make(chan struct{}, 2), make(chan struct{})
			client, err := wire.Connect(t.Context(), server, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": func(q wire.Question) any {
				asked <- struct{}{}
				<-answer
				return imperialInPlace[q.Key](q)
			}}})
			require.NoError(t, err)
			defer client.Close()
			call, err := client.Start(t.Context(), wire.Request{Name: "tool", Arguments: input{}})
			require.NoError(t, err)
			<-asked
			end := make(chan error, 1)
			go func() { end <- rt.Drain(t.Context()) }()
			require.Eventually(t, func() bool {
				other, err := wire.Connect(t.Context(), server, nil)
				require.NoError(t, err)
				defer other.Close()
				reply, err := other.Send(t.Context(), wire.Request{Name: "tool", Arguments: input{}})
				require.NoError(t, err)
				return reply.Error != nil && reply.Error.Code == -31001
			}, 30*time.Second, time.Millisecond)
			require.Empty(t, end)
			close(answer)
			res, err := call.Wait(t.Context())
			require.NoError(t, err)
			reply, err := wire.ReadReply(res)
			require.NoError(t, err)
			require.False(t, reply.IsError, reply.Text)
			require.NoError(t, <-end)
		})
	}
}

// Only a call that ends with its held handler is abandoned. A Resumable goes on from its
// journal: after its time, and after a drain or a close, unless the key of its state ends with
// the process.
func TestACallThatGoesOnIsNotAbandoned(t *testing.T) {
	for name, style := range linearStyles {
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
					var did deeds
					var log recorder
					o := &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}, Listener: observe.With(&log)}
					if !shared {
						o.State = &statecodec.Options{Ephemeral: true}
					}
					rt := newTripRuntime(t, o)
					require.NoError(t, newTrip(rt, style(twoStops(&did)), "").begin().err)
					end(t, rt)
					abandoned, released := 1, 0
					switch {
					case name == "journal": // which holds nothing
						abandoned = 0
					case name == "resumable" && (shared || explanation == "time is up"):
						abandoned, released = 0, 1
					}
					require.Len(t, log.of(observe.CallAbandoned), abandoned, "%s, %s, shared %t", name, explanation, shared)
					require.Len(t, log.of(observe.FrameReleased), released, "%s, %s, shared %t", name, explanation, shared)
				})
			}
		}
	}
}
