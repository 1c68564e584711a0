package linear_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/listen"
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

// A handler that heeds nothing keeps neither Close for ever, nor the answer that comes too late. Its
// effects are undone once it has ended.
func TestFramesThatDoNotHeedTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var un kit.Deeds
		release := make(chan struct{})
		rt, err := mrtr.New(nil)
		require.NoError(t, err)
		tool := kit.NewTrip(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
			defer func() { <-release }()
			if err := mrtr.Do(ctx, c, "hold", func(context.Context, string) error { return nil }); err != nil {
				return kit.Out{}, err
			}
			_, err := linear.Ask(ctx, c, kit.Text("first"))
			return kit.Out{}, err
		}).OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[struct{}]) error { un.Note("hold"); return nil })), "")
		asked := tool.Begin()
		require.NoError(t, asked.Err)
		time.Sleep(16 * time.Minute)
		asks := time.Now()
		late := kit.Ended(t, tool.Answer(asked, "x").Err, mrtr.FrameGone)
		require.Equal(t, 10*time.Second, time.Since(asks))
		require.Equal(t, []string{"hold"}, late.Unknown)
		require.Empty(t, un.Done)
		began := time.Now()
		const left = "mrtr: Close: 1 handlers still running 10s after cancellation"
		require.EqualError(t, rt.Close(), left)
		require.EqualError(t, rt.Close(), left, "and does not wait again")
		require.Equal(t, 10*time.Second, time.Since(began))
		close(release)
		synctest.Wait()
		require.NoError(t, rt.Close(), "now it has")
		require.Equal(t, 1, un.Count("hold"))
	})
}

// A request that is sent again, where its frame has gone on with the call, leaves the call's effects alone.
func TestARepeatUndoesNothingOfACallThatGoesOn(t *testing.T) {
	kit.Differs(t, "a repeat gets the result")
	var un kit.Deeds
	tool := kit.ServeTrip(t, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
		if err := mrtr.Do(ctx, c, "hold", func(context.Context, string) error { return nil }); err != nil {
			return kit.Out{}, err
		}
		if _, err := linear.Ask(ctx, c, kit.Text("first")); err != nil {
			return kit.Out{}, err
		}
		last, err := linear.Ask(ctx, c, kit.Text("last"))
		return kit.Out{Plan: last}, err
	}).OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[struct{}]) error { un.Note("hold"); return nil })))
	asked := tool.Begin()
	last := tool.Answer(asked, "x")
	require.NoError(t, last.Err)
	repeat := func(of kit.Reply) {
		t.Helper()
		require.Equal(t, []string{"hold"}, kit.Ended(t, tool.Answer(of, "x").Err, mrtr.FrameGone).Unknown)
	}
	repeat(asked)
	require.Equal(t, "x", tool.Answer(last, "x").Plan)
	repeat(last)
	repeat(asked)
	require.Empty(t, un.Done)
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

// A Resumable handler goes on from its journal at another instance, unless the keys
// are those of this process. The log says how many calls end with it.
func TestDrainMovesResumableCalls(t *testing.T) {
	logger, log := kit.NewLog()
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(logger)
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

		rt = kit.TripRuntime(t, nil)
		kit.NewTrip(rt, linear.Resumable(twoStops(&did)), "").Begin()
		stays := &kit.Trip{Handler: mrtr.Tool(rt, linear.Coroutine(twoStops(&did)), &mrtr.HandlerOptions{Audience: "stays"})}
		require.NoError(t, stays.Begin().Err)
		require.NoError(t, rt.Close())
		require.Regexp(t, "^[^\n]*level=WARN [^\n]* calls=1\n$", log.String())
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

// neverEmpty is what a style keeps that never gets empty.
type neverEmpty struct{ drains *int }

func (n neverEmpty) Drain() <-chan struct{} { *n.drains++; return nil }

func (neverEmpty) Close(time.Time) error { return nil }

func (neverEmpty) Count(*listen.Stats, func(listen.Waiting, time.Time)) {}

// No style takes in a call while another one is waited for.
func TestDrainReachesEveryStyleAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var drains int
		rt := kit.TripRuntime(t, nil)
		kit.NewTrip(rt, mrtr.Style[kit.In, kit.Out]{Print: "keeps two", Enter: func(_ context.Context, p *mrtr.Pass, _ kit.In) (*mrtr.IncompleteResult, kit.Out, error) {
			for key := range 2 {
				p.Service(key, func(*mrtr.Runtime) keep.Service { return neverEmpty{&drains} })
			}
			return nil, kit.Out{}, nil
		}}, "").Begin()
		ctx, cancel := context.WithCancel(t.Context())
		end := drained(ctx, rt)
		require.Equal(t, 2, drains)
		cancel()
		require.ErrorIs(t, <-end, context.Canceled)
	})
}
