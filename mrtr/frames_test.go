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

	"github.com/mrtr-go/sdk/mrtr"
)

// twoStops asks twice, with an effect between the questions and one before.
func twoStops(did *deeds) mrtr.LinearFunc[tripIn, tripOut] {
	return func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		defer did.note("unwound")
		if _, err := mrtr.Once(ctx, c, "start", did.do("start")); err != nil {
			return tripOut{}, err
		}
		first, err := mrtr.Ask(ctx, c, text("first"))
		if err != nil {
			return tripOut{}, err
		}
		if _, err := mrtr.Once(ctx, c, "middle", did.do("middle")); err != nil {
			return tripOut{}, err
		}
		second, err := mrtr.Ask(ctx, c, text("second"))
		return tripOut{Plan: first + " " + second}, err
	}
}

// byWho takes the caller from the arguments.
func byWho(_ context.Context, req mcp.Request) (string, error) {
	arguments := string(req.(*mcp.CallToolRequest).Params.Arguments)
	return strings.TrimSuffix(strings.TrimPrefix(arguments, `{"who":"`), `"}`), nil
}

func TestFramesAreCapped(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, &mrtr.Options{Principal: byWho, MaxFrames: 5, MaxFramesPerPrincipal: 2})
	tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
	begin := func(who string) tripReply { return tool.round(t.Context(), who, "", nil) }
	ann := begin("ann")
	require.NoError(t, ann.err)
	require.NoError(t, begin("ann").err)
	busy := ended(t, begin("ann").err, mrtr.Busy, "two of one principal are enough")
	require.Equal(t, "2", busy.Detail)
	require.EqualError(t, busy, "Too many calls are waiting for answers (limit 2). Try again later.")
	require.Equal(t, 2, did.count("start"), "a call that is refused has done nothing")

	require.NoError(t, begin("bob").err, "another principal has places of its own")
	require.NoError(t, begin("").err, "callers nobody knows share the total alone")
	require.NoError(t, begin("").err)
	busy = ended(t, begin("").err, mrtr.Busy, "five in all are enough")
	require.Equal(t, "5", busy.Detail)

	second := tool.round(t.Context(), "ann", ann.state, accepting(ann, "x"))
	require.NoError(t, second.err, "a call that has its place keeps it until its end")
	require.Equal(t, []string{"second"}, second.asks)
	last := tool.round(t.Context(), "ann", second.state, accepting(second, "y"))
	require.Equal(t, "x y", last.plan)
	require.NoError(t, begin("ann").err, "and frees it then")
	ended(t, begin("eve").err, mrtr.Busy)
	require.Equal(t, mrtr.FrameCount{Parked: 5, Tokens: 5, Places: 5, Principals: 2}, mrtr.CountFrames(rt))
}

// A call that needs no place, because it can be replayed, is never refused.
func TestFramesFullFallBackToTheJournal(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, &mrtr.Options{MaxFrames: 1})
	tool := newTrip(rt, mrtr.Resumable(twoStops(&did)), "")
	require.NoError(t, tool.begin().err, "takes the one place")
	require.NoError(t, tool.begin().err, "is not held")
	soon(t, func() bool { return mrtr.CountFrames(rt) == mrtr.FrameCount{Parked: 1, Tokens: 1, Places: 1} }, "one is held")
	last, rounds := tool.run()
	require.NoError(t, last.err)
	require.Equal(t, 3, rounds)
	require.Equal(t, "first second", last.plan)
	require.Equal(t, 3, did.count("start"), "one for each call")
	require.Equal(t, 1, did.count("middle"))
}

// Two calls that were let in while there was a place, and then both need it:
// one of them is refused, and its error says that an effect has run.
func TestFramesAreCappedWhereTheyPark(t *testing.T) {
	var did deeds
	var both sync.WaitGroup
	both.Add(2)
	rt := newTripRuntime(t, &mrtr.Options{MaxFrames: 1})
	tool := newTrip(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, in tripIn) (tripOut, error) {
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
	var effect interface{ ToolErrorEffect() string }
	require.ErrorAs(t, err, &effect)
	require.Equal(t, "applied", effect.ToolErrorEffect())
	require.EqualError(t, err, `Too many calls are waiting for answers (limit 1). "start" was done: do not call the tool again without checking.`)
	soon(t, func() bool { return mrtr.CountFrames(rt) == mrtr.FrameCount{Parked: 1, Tokens: 1, Places: 1} }, "one is held")
}

func TestFramesAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		var log eventLog
		rt := newTripRuntime(t, &mrtr.Options{FrameTTL: time.Minute, Observer: &log})
		tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
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
		require.Equal(t, mrtr.FrameCount{}, mrtr.CountFrames(rt))
	})
}

// Each round has a token of its own, and one that was used opens nothing.
func TestFramesHaveAFreshTokenEachRound(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, nil)
	tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
	seen := map[string]bool{}
	name := func(reply tripReply) {
		require.NoError(t, reply.err)
		token := mrtr.FrameToken(rt, `{"who":""}`, reply.state)
		require.Len(t, token, 32)
		require.False(t, seen[token], "a token is given once")
		seen[token] = true
	}
	first := tool.begin()
	name(first)
	again := tool.round(t.Context(), "", first.state, nil) // the answer is missing
	name(again)
	second := tool.answer(again, "x")
	name(second)
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
	tool := serveTrip(t, mrtr.Coroutine(twoStops(&did)))
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
		rt := newTripRuntime(t, &mrtr.Options{MaxStateBytes: 16})
		ended(t, newTrip(rt, mrtr.Coroutine(twoStops(&did)), "").begin().err, mrtr.LimitExceeded)
		soon(t, func() bool { return mrtr.CountFrames(rt) == mrtr.FrameCount{} }, "nothing is held")
	})
	t.Run("too many questions at once", func(t *testing.T) {
		rt := newTripRuntime(t, &mrtr.Options{MaxQuestions: 1})
		tool := newTrip(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			return tripOut{}, mrtr.AskAll(ctx, c, text("first"), text("second"))
		}), "")
		ended(t, tool.begin().err, mrtr.LimitExceeded)
		soon(t, func() bool { return mrtr.CountFrames(rt) == mrtr.FrameCount{} }, "nothing is held")
	})
	t.Run("a decline after a missing answer", func(t *testing.T) {
		rt := newTripRuntime(t, nil)
		tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
		asked := tool.begin()
		again := tool.round(t.Context(), "", asked.state, nil)
		ended(t, tool.round(t.Context(), "", again.state, declining(again)).err, mrtr.Declined)
		soon(t, func() bool { return mrtr.CountFrames(rt) == mrtr.FrameCount{} }, "nothing is held")
	})
}

// A panic of a handler that nobody waits for is not lost: an operator reads it.
func TestFramesReportAPanicOnTheirWayOut(t *testing.T) {
	var log eventLog
	rt := newTripRuntime(t, &mrtr.Options{Observer: &log})
	tool := newTrip(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		defer func() { panic("the door jams") }()
		_, err := mrtr.Ask(ctx, c, text("first"))
		return tripOut{}, err
	}), "")
	require.NoError(t, tool.begin().err)
	require.NoError(t, rt.Close())
	require.Equal(t, []string{"the server is shutting down (effects: false)"}, log.abandoned())
	require.Equal(t, []any{"the door jams"}, log.panics())
}

func TestFramesAfterClose(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, nil)
	tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
	asked := tool.begin()
	require.NoError(t, rt.Close())
	require.Equal(t, 1, did.count("unwound"), "Close waits for deferred functions")
	ended(t, tool.answer(asked, "x").err, mrtr.FrameGone)
	closed := ended(t, tool.begin().err, mrtr.ShuttingDown)
	require.EqualError(t, closed, "Stopped: this server is shutting down. Call the tool again.")
	require.NoError(t, rt.Close(), "closing twice is harmless")
}

// A handler that heeds nothing does not keep Close for ever.
func TestFramesThatDoNotHeedTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		rt, err := mrtr.New(nil)
		require.NoError(t, err)
		tool := newTrip(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			defer func() { <-release }()
			_, err := mrtr.Ask(ctx, c, text("first"))
			return tripOut{}, err
		}), "")
		require.NoError(t, tool.begin().err)
		began := time.Now()
		require.EqualError(t, rt.Close(), "mrtr: Close: 1 handlers still running 10s after cancellation")
		require.Equal(t, 10*time.Second, time.Since(began))
		close(release)
		require.NoError(t, rt.Close(), "now it has")
	})
}

// Nothing outlives a runtime: no goroutine, no timer, no entry in a table.
func TestFramesLeaveNothingBehind(t *testing.T) {
	const frames = 2000
	before := runtime.NumGoroutine()
	var did deeds
	rt := newTripRuntime(t, &mrtr.Options{Principal: byWho})
	tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
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
	require.Equal(t, mrtr.FrameCount{Parked: frames, Tokens: frames, Places: frames, Principals: 7}, mrtr.CountFrames(rt))
	require.GreaterOrEqual(t, runtime.NumGoroutine(), frames)
	require.NoError(t, rt.Close())
	require.Zero(t, mrtr.CountFrames(rt))
	require.Equal(t, frames, did.count("unwound"))
	require.False(t, mrtr.JanitorPending(rt))
	soon(t, func() bool { return runtime.NumGoroutine() <= before }, "every goroutine ends")
}

// eventLog is an observer that keeps its events.
type eventLog struct {
	mu     sync.Mutex
	events []mrtr.Event
}

func (l *eventLog) Observe(_ context.Context, e mrtr.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *eventLog) abandoned() (reasons []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == mrtr.CallAbandoned {
			reasons = append(reasons, fmt.Sprintf("%s (effects: %t)", e.Reason, e.HasEffects))
		}
	}
	return reasons
}

func (l *eventLog) panics() (values []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		var panicked *mrtr.PanicError
		if errors.As(e.Err, &panicked) {
			values = append(values, panicked.Value)
		}
	}
	return values
}

func (l *eventLog) entered() (handlers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == mrtr.HandlerEntered {
			handlers = append(handlers, e.Handler)
		}
	}
	return handlers
}

func TestFramesAreCappedInBytes(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, &mrtr.Options{MaxFrameBytes: 10_000})
	tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
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
	tool := newTrip(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		held = c
		require.NotNil(t, c.Request())
		_, err := mrtr.Ask(ctx, c, text("first"))
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
	one := newTrip(newTripRuntime(t, nil), mrtr.Coroutine(twoStops(&did)), "")
	other := newTrip(newTripRuntime(t, nil), mrtr.Coroutine(twoStops(&did)), "")
	first := one.begin()
	second := other.round(t.Context(), "", first.state, nil)
	ended(t, second.err, mrtr.FrameGone)
	require.Empty(t, second.asks)
}
