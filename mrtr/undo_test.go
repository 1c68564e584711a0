package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/store"
)

// reserving is a handler that reserves, asks q and ends, and declares how to undo the
// reservation.
type reserving struct {
	doubtful bool
	end      func() error // of the handler, when q is answered
	undo     func() error

	mu    sync.Mutex // guards the fields below
	idems []string
	undos []mrtr.Undo[string]
}

func (r *reserving) reserve(_ context.Context, idem string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idems = append(r.idems, idem)
	if r.doubtful {
		return "", context.DeadlineExceeded
	}
	return "1A", nil
}

func (r *reserving) release(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
	r.mu.Lock()
	r.undos = append(r.undos, u)
	r.mu.Unlock()
	return r.undo()
}

func (r *reserving) styles() map[string]tripStyle {
	finish := func() (tripOut, error) {
		if r.end == nil {
			return tripOut{Plan: "done"}, nil
		}
		return tripOut{}, r.end()
	}
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		_, _ = mrtr.Once(s.ctx, s.Call, "reserve", r.reserve) // in doubt or not, it goes on
		ask(s, text("q"))
		return finish()
	})
	var list tripSteps
	steps.Do(&list, "first", func(ctx context.Context, at *tripAt, _ string) (int, error) {
		_, _ = mrtr.Once(ctx, at.Call, "reserve", r.reserve)
		return 0, mrtr.ErrSkip
	})
	steps.Always(&list, text("q"))
	list.End(func(context.Context, *tripAt) (tripOut, error) { return finish() })
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		styles[name] = style.OnStop(mrtr.UndoOf("reserve", r.release))
	}
	return styles
}

const (
	isUndone  = ` "reserve" was undone.`
	isKept    = ` "reserve" was done and could not be undone: do not call the tool again without checking.`
	isUnknown = ` Whether "reserve" was done is unknown: do not call the tool again without checking.`
)

// undoings are the ways in which undoing ends, and the sentence about it after an effect that
// happened, and after one in doubt.
var undoings = map[string]struct {
	undo             func() error
	happened, doubts string
}{
	"nil":            {func() error { return nil }, isUndone, isUnknown},
	"found":          {func() error { return fmt.Errorf("looked: %w", mrtr.ErrFound) }, isUndone, isUndone},
	"an error":       {func() error { return errors.New("the desk is closed") }, isKept, isUnknown},
	"indeterminate":  {func() error { return mrtr.ErrIndeterminate }, isUnknown, isUnknown},
	"timed out":      {func() error { return context.DeadlineExceeded }, isUnknown, isUnknown},
	"a panic":        {func() error { panic("boom") }, isUnknown, isUnknown},
	"runtime.Goexit": {func() error { runtime.Goexit(); return nil }, isUnknown, isUnknown},
}

// endOfTask is the cause that ends a call whose task was cancelled.
type endOfTask struct{}

func (endOfTask) Error() string { return "cancelled" }
func (endOfTask) EndsCall() error {
	return &mrtr.Error{Reason: mrtr.Cancelled, Detail: "the task was cancelled"}
}

// stopEndings are the ways in which a call ends without completing. why is the text of the end,
// without the sentence on effects.
var stopEndings = map[string]struct {
	end  func() error
	last func(t *testing.T, tool *tripTool, asked tripReply) tripReply
	why  string
}{
	"declined": {last: func(t *testing.T, tool *tripTool, asked tripReply) tripReply {
		return tool.round(t.Context(), "", asked.state, declining(asked))
	}, why: `Stopped: "q" was declined.`},
	"dismissed": {last: func(t *testing.T, tool *tripTool, asked tripReply) tripReply {
		return tool.round(t.Context(), "", asked.state, mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "cancel"}})
	}, why: `Stopped: "q" was cancelled.`},
	"never answered": {last: func(t *testing.T, tool *tripTool, asked tripReply) tripReply {
		for asked.err == nil {
			asked = tool.round(t.Context(), "", asked.state, nil)
		}
		return asked
	}, why: `Stopped: "q" was asked 4 times without a usable answer.`},
	"an error":   {end: func() error { return errors.New("no chairs") }, why: "no chairs."},
	"a quiet no": {end: func() error { return &mrtr.Error{Reason: mrtr.Declined, Detail: "too dear"} }, why: "Stopped: too dear."},
	"a panic":    {end: func() error { panic("boom") }, why: "The tool failed unexpectedly."},
	"Goexit":     {end: func() error { runtime.Goexit(); return nil }, why: "mrtr: the handler ended its goroutine with runtime.Goexit."},
	"stopped":    {end: func() error { return mrtr.Stop(tripOut{Plan: "nothing was booked"}) }, why: "Stopped."},
	"cancelled task": {last: func(t *testing.T, tool *tripTool, asked tripReply) tripReply {
		round := rendezvous.NewTaskRound()
		round.ReportTo(func(string) {})
		ctx, cancel := context.WithCancelCause(rendezvous.WithTaskRound(t.Context(), round))
		cancel(endOfTask{})
		return tool.round(ctx, "", asked.state, nil)
	}, why: "Stopped: the task was cancelled."},
}

// However a call ends without completing, in whatever style, with and without a store: what it
// did is undone once, without the handler, by the effect's own idem and value, and the client is
// told in one sentence what stands. The same request again tells the same.
func TestWhatACallDidIsUndoneAndTold(t *testing.T) {
	cells := 0
	for style := range (&reserving{}).styles() {
		for way, ending := range stopEndings {
			for how, undoing := range undoings {
				for _, doubtful := range []bool{false, true} {
					for _, stored := range []bool{false, true} {
						if cells++; !stored && isStoreForced() {
							continue
						}
						cell := fmt.Sprintf("%s/%s/%s/in doubt %t/stored %t", style, way, how, doubtful, stored)
						r := &reserving{doubtful: doubtful, end: ending.end, undo: undoing.undo}
						sentence := undoing.happened
						if doubtful {
							sentence = undoing.doubts
						}
						opts, seen := &mrtr.Options{}, &recorder{}
						opts.Listener = observe.With(seen)
						if stored {
							opts.Durable = durable.In(shared{store.NewMemory(nil)}, nil)
						}
						rt := newTripRuntime(t, opts)
						tool := newTrip(rt, r.styles()[style], "")
						asked := tool.begin()
						require.Equal(t, []string{"q"}, asked.asks, cell)
						entered := seen.entries()
						last := ending.last
						if last == nil {
							last = func(_ *testing.T, tool *tripTool, asked tripReply) tripReply { return tool.answer(asked, "x") }
							entered++
						}
						end := last(t, tool, asked)
						if style == "native" && stored && doubtful && ending.end != nil {
							// The handler comes to the effect again. The round is left to whoever can find out.
							ended(t, end.err, mrtr.OutcomeUnknown, cell)
							require.Empty(t, r.undos, cell)
							continue
						}
						if way == "stopped" && sentence == isUndone {
							require.Equal(t, tripReply{plan: "nothing was booked"}, end, cell)
						} else {
							require.EqualError(t, end.err, ending.why+sentence, cell)
							require.Equal(t, map[string]string{isUndone: "undone", isKept: "applied", isUnknown: "unknown"}[sentence], effectOf(end.err), cell)
						}
						require.Len(t, r.undos, 1, cell)
						u := r.undos[0]
						require.Equal(t, r.idems, []string{u.Idem}, cell)
						require.Equal(t, doubtful, u.InDoubt, cell)
						require.Equal(t, map[bool]string{false: "1A"}[doubtful], u.Value, cell)
						require.Error(t, u.Why, cell)
						if style != "coroutine" && ending.last != nil {
							require.Equal(t, entered, seen.entries(), "%s: the handler was entered to undo", cell)
						}
						told := slices.Concat(seen.of(observe.EffectUndone), seen.of(observe.StopFailed))
						require.Len(t, told, 1, cell)
						require.Equal(t, sentence == isUndone, told[0].Kind == observe.EffectUndone, cell)
						require.Equal(t, "reserve", told[0].Effect, cell)
						if stored && way != "never answered" {
							again := last(t, tool, asked)
							require.Equal(t, end.plan, again.plan, cell)
							require.Equal(t, fmt.Sprint(end.err), fmt.Sprint(again.err), cell)
							require.Len(t, r.undos, 1, cell)
						}
					}
				}
			}
		}
	}
	require.Equal(t, 5*len(stopEndings)*len(undoings)*4, cells)
}

// A call that completes undoes nothing.
func TestACallThatCompletesUndoesNothing(t *testing.T) {
	for name, style := range (&reserving{undo: func() error { t.Error("undone"); return nil }}).styles() {
		last, _ := serveTrip(t, style).run()
		require.Equal(t, tripReply{plan: "done"}, last, name)
	}
}

// A legacy client that fails to be asked ends its call, which is undone and told behind a
// boundary as a decline is.
func TestALegacyUserWhoIsGone(t *testing.T) {
	answers := map[string]wire.Answer{
		"it declines":               wire.Decline,
		"it answers with an error":  wire.Fail(-32000, "no user"),
		"it fails when asked again": wire.InTurn(wire.Raw(`{"action":"accept"}`), wire.Fail(-32000, "no user")),
		"its answer cannot be read": wire.Raw(`{"action":7}`),
		"it never answers":          wire.Missing,
	}
	for explanation, answer := range answers {
		for how, undoing := range undoings {
			for style := range (&reserving{}).styles() {
				cell := explanation + "/" + how + "/" + style
				r := &reserving{undo: undoing.undo}
				rt, _ := newRuntime(t, &mrtr.Options{Bridge: &sse.BridgeOptions{AnswerTimeout: 20 * time.Millisecond}})
				server := serveStyle(rt, r.styles()[style], nil)
				logger, _ := newLog()
				require.NoError(t, boundary.Install(server, &boundary.Options{Logger: logger}))
				out, err := connect(t, server, legacyClient).Call(t.Context(), "tool", map[string]any{"who": ""}, wire.Answers{"q": answer})
				require.NoError(t, err)
				require.True(t, out.IsError, cell)
				require.Contains(t, out.Text, strings.TrimSpace(undoing.happened), cell)
				require.Contains(t, string(out.Result), fmt.Sprintf(`"effect":%q`, map[string]string{isUndone: "undone", isKept: "applied", isUnknown: "unknown"}[undoing.happened]), cell)
				require.Len(t, r.undos, 1, cell)
			}
		}
	}
}

// Effects are undone the last first, and an effect that failed is not, in every style, wherever
// the call ends. The undo of a step is declared by the step.
func TestUndosRunInReverse(t *testing.T) {
	var undone []string
	undo := func(key string) func(context.Context, *mrtr.Call, mrtr.Undo[string]) error {
		return func(_ context.Context, c *mrtr.Call, u mrtr.Undo[string]) error {
			require.NotEmpty(t, c.ID())
			undone = append(undone, key+" "+u.Value)
			return nil
		}
	}
	var did deeds
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		once(s, "reserve", did.do("seat"))
		ask(s, text("q"))
		once(s, "pay", did.do("card"))
		_, _ = mrtr.Once(s.ctx, s.Call, "print", nothingPrinted)
		ask(s, text("r"))
		return tripOut{}, nil
	})
	for name, style := range styles {
		styles[name] = style.OnStop(mrtr.UndoOf("reserve", undo("reserve")), mrtr.UndoOf("pay", undo("pay"))).
			OnStop(mrtr.UndoOf("print", undo("print")), mrtr.UndoOf("never", undo("never")))
	}
	var list tripSteps
	seat := steps.Do(&list, "reserve", does("reserve", &did, "seat"))
	steps.Always(&list, text("q"))
	card := steps.Do(&list, "pay", does("pay", &did, "card"))
	steps.Always(&list, text("r"))
	list.End(ends("done"))
	steps.OnStop(&list, card, undo("pay"))
	steps.OnStop(&list, seat, undo("reserve"))
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		for _, elsewhere := range []bool{false, true} {
			if elsewhere && name == "coroutine" {
				continue // its frame stands here
			}
			undone = nil
			tool := serveTrip(t, style)
			asked := tool.answer(tool.begin(), "x")
			if elsewhere {
				tool = serveTrip(t, style)
			}
			last := tool.round(t.Context(), "", asked.state, declining(asked))
			require.Equal(t, []string{"pay", "reserve"}, slices.Sorted(slices.Values(ended(t, last.err, mrtr.Declined, name).Undone)), name)
			require.Equal(t, []string{"pay card", "reserve seat"}, undone, name)
		}
	}
}

func nothingPrinted(context.Context, string) (string, error) { return "", errors.New("no paper") }

// The function of an effect stops its call too: what it did not do is not told.
func TestAnEffectStopsItsCall(t *testing.T) {
	for name, style := range everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		once(s, "reserve", func(context.Context, string) (string, error) { return "1A", nil })
		once(s, "pay", func(context.Context, string) (string, error) { return "", mrtr.Stop(tripOut{Plan: "no money"}) })
		return tripOut{}, nil
	}) {
		undone := 0
		undo := func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { undone++; return nil }
		require.Equal(t, tripReply{plan: "no money"}, serveTrip(t, style.OnStop(mrtr.UndoOf("reserve", undo), mrtr.UndoOf("pay", undo))).begin(), name)
		require.Equal(t, 1, undone, name)
		last := serveTrip(t, style).begin()
		require.Equal(t, tripReply{plan: "no money"}, last, "%s: an effect without an undo stands, and out may say so", name)
	}
}

// tryAgain is an error after which the same request may be sent again.
type tryAgain struct{ error }

func (tryAgain) ToolErrorRetryable() bool { return true }

// With a store, a round that ends in a retryable error is left to the same request when it comes
// again. Its effects count as done then, so they are not undone.
func TestARoundThatGoesOnUndoesNothing(t *testing.T) {
	for name := range (&reserving{}).styles() {
		for _, stored := range []bool{false, true} {
			if !stored && isStoreForced() {
				continue
			}
			r := &reserving{end: func() error { return tryAgain{errors.New("busy")} }, undo: func() error { return nil }}
			opts := &mrtr.Options{}
			if stored {
				opts.Durable = durable.In(shared{store.NewMemory(nil)}, nil)
			}
			tool := newTrip(newTripRuntime(t, opts), r.styles()[name], "")
			require.ErrorContains(t, tool.answer(tool.begin(), "x").err, "busy")
			goesOn := stored && name != "coroutine" // that has no handler any more to go on with
			require.Equal(t, goesOn, len(r.undos) == 0, "%s, stored %t", name, stored)
		}
	}
}

// A held handler whose time is up, or whose runtime closes, is undone. One that can be replayed
// elsewhere is not, for its call may go on.
func TestAHeldHandlerThatIsLetGoIsUndone(t *testing.T) {
	for _, name := range []string{"coroutine", "resumable"} {
		inBubble(t, name, func(t *testing.T) {
			r := &reserving{undo: func() error { return nil }}
			rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}})
			tool := newTrip(rt, r.styles()[name], "")
			tool.begin()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			undone := map[bool]int{true: 1}[name == "coroutine"]
			require.Len(t, r.undos, undone)
			tool.begin()
			require.NoError(t, rt.Close())
			synctest.Wait()
			require.Len(t, r.undos, 2*undone)
		})
	}
}

// A handler ends, or its client leaves, while an effect of its still runs on a goroutine that it
// left behind. The call waits for the effect, and undoes it then.
func TestAnUndoWaitsForTheEffectThatStillRuns(t *testing.T) {
	for style := range everyStyle(around(nil)) {
		for _, leaves := range []bool{false, true} {
			if leaves && isStoreForced() {
				continue // its round goes on
			}
			inBubble(t, fmt.Sprint(style, ", its client leaves: ", leaves), func(t *testing.T) {
				var log []string
				began, end := make(chan struct{}), make(chan struct{})
				undo := mrtr.UndoOf("pay", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
					log = append(log, "undone "+u.Value)
					return nil
				})
				tool := serveTrip(t, everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
					ask(s, text("q"))
					go func() {
						_, _ = mrtr.Once(s.ctx, s.Call, "pay", func(context.Context, string) (string, error) {
							close(began)
							<-end
							log = append(log, "paid")
							return "10", nil
						})
					}()
					<-began
					if leaves {
						<-s.ctx.Done()
					}
					return tripOut{}, errors.New("no chairs")
				})[style].OnStop(undo))
				asked := tool.begin()
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				reply := underWay(func() tripReply { return tool.round(ctx, "", asked.state, accepting(asked, "x")) })
				<-began
				if leaves {
					hangUp()
				}
				synctest.Wait()
				require.Empty(t, log)
				close(end)
				require.ErrorContains(t, (<-reply).err, `"pay" was undone.`)
				require.Equal(t, []string{"paid", "undone 10"}, log)
			})
		}
	}
}

// A decline reaches an instance that drains, undoes there while a handler is held, and is left to
// another instance after that.
func TestADeclineReachesAnInstanceThatDrains(t *testing.T) {
	for _, style := range []string{"journal", "resumable"} {
		inBubble(t, style, func(t *testing.T) {
			r := &reserving{undo: func() error { return nil }}
			tool, other := serveTrip(t, r.styles()[style]), serveTrip(t, r.styles()[style])
			first, second := tool.begin(), tool.begin()
			waiting := &tripTool{rt: tool.rt, handler: mrtr.Tool(tool.rt, linear.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				return tripOut{Plan: ask(s, text("q"))}, nil
			})), &mrtr.HandlerOptions{Audience: "waiting"})}
			held := waiting.begin()
			end := make(chan error, 1)
			go func() { end <- tool.rt.Drain(t.Context()) }()
			synctest.Wait()
			require.Empty(t, end, "a handler is held")
			decline := func(at *tripTool, asked tripReply) error {
				return at.round(t.Context(), "", asked.state, declining(asked)).err
			}
			require.Equal(t, []string{"reserve"}, ended(t, decline(tool, first), mrtr.Declined).Undone)
			require.Equal(t, "x", waiting.answer(held, "x").plan)
			require.NoError(t, <-end)
			requireCode(t, decline(tool, second), -31001)
			require.Len(t, r.undos, 1)
			require.Equal(t, []string{"reserve"}, ended(t, decline(other, second), mrtr.Declined).Undone)
			require.Len(t, r.undos, 2)
		})
	}
}

// An undo that cannot be one is found where the handler is registered, or the list built.
func TestUndosThatCannotBe(t *testing.T) {
	undo := func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { return nil }
	style := guardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "", nil })
	for want, undos := range map[string][]mrtr.Undoing{
		`mrtr: key "k" stands for two undos: each needs a key of its own`: {mrtr.UndoOf("k", undo), mrtr.UndoOf("k", undo)},
		`mrtr: the undo of "k" has no function`:                           {mrtr.UndoOf[string]("k", nil)},
		`mrtr: key "": a key has 1 to 64 characters`:                      {mrtr.UndoOf("", undo)},
	} {
		require.PanicsWithError(t, want, func() { mrtr.Tool(newTripRuntime(t, nil), style.OnStop(undos...), nil) })
	}
	build := func(add func(list *tripSteps)) error {
		var list tripSteps
		add(&list)
		list.End(ends(""))
		_, err := list.Build()
		return misuse(t, err)
	}
	require.EqualError(t, build(func(list *tripSteps) { steps.OnStop(list, steps.Always(list, text("q")), undo) }),
		`mrtr: OnStop undoes "q", which is no doing step of the list`)
	require.EqualError(t, build(func(list *tripSteps) {
		step := steps.Do(list, "k", does("k", &deeds{}, ""))
		steps.OnStop(list, step, undo)
		steps.OnStop(list, step, undo)
	}), `mrtr: key "k" stands for two undos: each needs a key of its own`)

	// Stop with another type than the output's.
	wrong := mrtr.Native(guardedOf(func(*stage, tripIn) (tripOut, error) { return tripOut{}, mrtr.Stop(7) }))
	require.EqualError(t, misuse(t, serveTrip(t, wrong).begin().err), "mrtr: Stop has a int, and the handler's output is a mrtr_test.tripOut")

	// A value that the undo cannot read is not undone, and that is told.
	last := serveTrip(t, mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
		once(s, "reserve", func(context.Context, string) (string, error) { return "1A", nil })
		return tripOut{}, errors.New("no chairs")
	})).OnStop(mrtr.UndoOf("reserve", func(context.Context, *mrtr.Call, mrtr.Undo[int]) error { return nil }))).begin()
	require.EqualError(t, last.err, "no chairs."+isKept)
}
