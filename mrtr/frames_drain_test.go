package mrtr_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

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
	require.NoError(t, last.err)
	require.Equal(t, "x y", last.plan)
}

func TestDrainLetsHeldHandlersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, nil)
		tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
		held := tool.begin()
		end := drained(t.Context(), rt)
		require.Empty(t, end, "a handler is held")
		require.True(t, rt.Stats().Draining)
		ended(t, tool.begin().err, mrtr.ShuttingDown)
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
		rt := newTripRuntime(t, &mrtr.Options{FrameTTL: time.Minute})
		newTrip(rt, mrtr.Coroutine(twoStops(&did)), "").begin()
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
		tool := newTrip(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, in tripIn) (tripOut, error) {
			time.Sleep(time.Minute)
			var did deeds
			return twoStops(&did)(ctx, c, in)
		}), "")
		first := make(chan tripReply, 1)
		go func() { first <- tool.begin() }()
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
		held := newTrip(rt, mrtr.Resumable(twoStops(&did)), "").begin()
		require.NoError(t, <-drained(t.Context(), rt))
		goesOn(t, newTrip(newTripRuntime(t, nil), mrtr.Resumable(twoStops(&did)), ""), held)
		require.Equal(t, 1, did.count("start"), "the other instance remembers it")

		rt = newTripRuntime(t, &mrtr.Options{State: &statecodec.Options{Ephemeral: true}})
		tool := newTrip(rt, mrtr.Resumable(twoStops(&did)), "")
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
		newTrip(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			c.OnStop(func(_ context.Context, err error) { stopped = err })
			v, err := mrtr.Ask(ctx, c, text("first"))
			return tripOut{Plan: v}, err
		}), "").begin()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := rt.Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "mrtr: Drain: 1 handlers held and 0 running: context deadline exceeded")
		ended(t, stopped, mrtr.ShuttingDown)
		require.Zero(t, rt.Stats().Held)
	})
}

// Calls of the styles that hold nothing are served to the end, and those of journaled
// code until nothing is held.
func TestDrainServesTheOtherStyles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, nil)
		coroutine := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
		native := &tripTool{handler: mrtr.Tool(rt, mrtr.Native(nativeOf(&did)), &mrtr.HandlerOptions{Audience: "native"})}
		held := coroutine.begin()
		end := drained(t.Context(), rt)
		native.answer(native.begin(), "window")
		goesOn(t, coroutine, held)
		require.NoError(t, <-end)
		require.NoError(t, native.begin().err)
	})
}
