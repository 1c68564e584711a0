package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
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

func (r *reserving) styles() map[string]kit.Style {
	finish := func() (kit.Out, error) {
		if r.end == nil {
			return kit.Out{Plan: "done"}, nil
		}
		return kit.Out{}, r.end()
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		_, _ = mrtr.Once(s.Ctx, s.Call, "reserve", r.reserve) // in doubt or not, it goes on
		kit.Ask(s, kit.Text("q"))
		return finish()
	})
	var list kit.Steps
	steps.Do(&list, "first", func(ctx context.Context, at *kit.At, _ string) (int, error) {
		_, _ = mrtr.Once(ctx, at.Call, "reserve", r.reserve)
		return 0, mrtr.ErrSkip
	})
	steps.Always(&list, kit.Text("q"))
	list.End(func(context.Context, *kit.At) (kit.Out, error) { return finish() })
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		styles[name] = style.OnStop(mrtr.UndoOf("reserve", r.release))
	}
	return styles
}

// A later effect may stand on the one that is undone: its undo is told which effects are in doubt.
func TestAnUndoIsToldOfDoubts(t *testing.T) {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		_, _ = mrtr.Once(s.Ctx, s.Call, "reserve", func(context.Context, string) (string, error) { return "1A", nil })
		kit.Ask(s, kit.Text("q"))
		_, err := mrtr.Once(s.Ctx, s.Call, "pay", func(context.Context, string) (string, error) { return "", context.DeadlineExceeded })
		return kit.Out{}, err
	})
	require.NotEmpty(t, styles)
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			var told []mrtr.Undo[string]
			tool := kit.NewTrip(kit.TripRuntime(t, nil), style.OnStop(mrtr.UndoOf("reserve", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
				told = append(told, u)
				return nil
			})), "")
			require.Error(t, tool.Answer(tool.Begin(), "x").Err)
			require.Len(t, told, 1)
			require.Equal(t, []string{"pay"}, told[0].Unknown)
			require.Equal(t, "1A", told[0].Value)
		})
	}
}

const (
	isUndone  = ` "reserve" was undone.`
	isKept    = ` "reserve" was done and could not be undone: do not call the tool again without checking.`
	isUnknown = ` Whether "reserve" was done is unknown: do not call the tool again without checking.`
	// of a call that ended because an effect was in doubt
	isUndoneAlone = isUndone + ` What else it has done is unknown: do not call the tool again without checking.`
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

// stopEndings are the ways in which a call ends without completing. why is the text of the end,
// without the sentence on effects.
var stopEndings = map[string]struct {
	end  func() error
	last func(t *testing.T, tool *kit.Trip, asked kit.Reply) kit.Reply
	why  string
}{
	"declined": {last: func(t *testing.T, tool *kit.Trip, asked kit.Reply) kit.Reply {
		return tool.Round(t.Context(), "", asked.State, kit.Declining(asked))
	}, why: `Stopped: "q" was declined.`},
	"dismissed": {last: func(t *testing.T, tool *kit.Trip, asked kit.Reply) kit.Reply {
		return tool.Round(t.Context(), "", asked.State, mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "cancel"}})
	}, why: `Stopped: "q" was cancelled.`},
	"never answered": {last: func(t *testing.T, tool *kit.Trip, asked kit.Reply) kit.Reply {
		for asked.Err == nil {
			asked = tool.Round(t.Context(), "", asked.State, nil)
		}
		return asked
	}, why: `Stopped: "q" was asked 4 times without a usable answer.`},
	"an error":   {end: func() error { return errors.New("no chairs") }, why: "no chairs."},
	"a quiet no": {end: func() error { return &mrtr.Error{Reason: mrtr.Declined, Detail: "too dear"} }, why: "Stopped: too dear."},
	"a panic":    {end: func() error { panic("boom") }, why: "The tool failed unexpectedly."},
	"Goexit":     {end: func() error { runtime.Goexit(); return nil }, why: "mrtr: the handler ended its goroutine with runtime.Goexit."},
	"stopped":    {end: func() error { return mrtr.Stop(kit.Out{Plan: "nothing was booked"}) }, why: "Stopped."},
	"cancelled task": {last: func(t *testing.T, tool *kit.Trip, asked kit.Reply) kit.Reply {
		return tool.TaskRound(kit.CancelledTask(t.Context()), asked, nil)
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
						if cells++; !kit.Tried(cells) || !stored && kit.StoreForced() {
							continue
						}
						cell := fmt.Sprintf("%s/%s/%s/in doubt %t/stored %t", style, way, how, doubtful, stored)
						r := &reserving{doubtful: doubtful, end: ending.end, undo: undoing.undo}
						sentence := undoing.happened
						if doubtful {
							sentence = undoing.doubts
						}
						opts, seen := &mrtr.Options{}, &kit.Recorder{}
						opts.Listener = observe.With(seen)
						if stored {
							opts.Durable = durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)
						}
						rt := kit.TripRuntime(t, opts)
						tool := kit.NewTrip(rt, r.styles()[style], "")
						asked := tool.Begin()
						require.Equal(t, []string{"q"}, asked.Asks, cell)
						entered := seen.Entries()
						last := ending.last
						if last == nil {
							last = func(_ *testing.T, tool *kit.Trip, asked kit.Reply) kit.Reply { return tool.Answer(asked, "x") }
							entered++
						}
						end := last(t, tool, asked)
						why, stops := ending.why, way == "stopped" && sentence == isUndone
						if style == "native" && stored && doubtful && ending.end != nil { // it comes to the effect again first
							why, stops = "Stopped: an effect of this call was begun before, and nobody knows how it ended.", false
							if sentence == isUndone {
								sentence = isUndoneAlone
							}
						}
						if stops {
							require.Equal(t, kit.Reply{Plan: "nothing was booked"}, end, cell)
						} else {
							require.EqualError(t, end.Err, why+sentence, cell)
							require.Equal(t, map[string]string{isUndone: "undone", isKept: "applied", isUnknown: "unknown", isUndoneAlone: "unknown"}[sentence], report.EffectOf(end.Err), cell)
						}
						require.Len(t, r.undos, 1, cell)
						u := r.undos[0]
						require.Equal(t, r.idems, []string{u.Idem}, cell)
						require.Equal(t, doubtful, u.InDoubt, cell)
						require.Equal(t, map[bool]string{false: "1A"}[doubtful], u.Value, cell)
						require.Error(t, u.Why, cell)
						if style != "coroutine" && ending.last != nil {
							require.Equal(t, entered, seen.Entries(), "%s: the handler was entered to undo", cell)
						}
						told := slices.Concat(seen.Of(observe.EffectUndone), seen.Of(observe.EffectNotUndone))
						require.Len(t, told, 1, cell)
						require.Equal(t, sentence == isUndone || sentence == isUndoneAlone, told[0].Kind == observe.EffectUndone, cell)
						require.Equal(t, "reserve", told[0].Effect, cell)
						if stored && way != "never answered" {
							again := last(t, tool, asked)
							require.Equal(t, end.Plan, again.Plan, cell)
							require.Equal(t, fmt.Sprint(end.Err), fmt.Sprint(again.Err), cell)
							require.Len(t, r.undos, 1, cell)
						}
					}
				}
			}
		}
	}
	require.Equal(t, 5*len(stopEndings)*len(undoings)*4, cells)
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
	cells := 0
	for explanation, answer := range answers {
		for how, undoing := range undoings {
			for style := range (&reserving{}).styles() {
				if cells++; !kit.Tried(cells) {
					continue
				}
				cell := explanation + "/" + how + "/" + style
				r := &reserving{undo: undoing.undo}
				rt, _ := kit.NewRuntime(t, &mrtr.Options{Bridge: &sse.BridgeOptions{AnswerTimeout: 20 * time.Millisecond}})
				server := kit.ServeStyle(rt, r.styles()[style], nil)
				logger, _ := kit.NewLog()
				require.NoError(t, boundary.Install(server, &boundary.Options{Logger: logger}))
				out, err := kit.Connect(t, server, kit.Legacy).Call(t.Context(), "tool", map[string]any{"who": ""}, wire.Answers{"q": answer})
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
	var did kit.Deeds
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Once(s, "reserve", did.Do("seat"))
		kit.Ask(s, kit.Text("q"))
		kit.Once(s, "pay", did.Do("card"))
		_, _ = mrtr.Once(s.Ctx, s.Call, "print", nothingPrinted)
		kit.Ask(s, kit.Text("r"))
		return kit.Out{}, nil
	})
	for name, style := range styles {
		styles[name] = style.OnStop(mrtr.UndoOf("reserve", undo("reserve")), mrtr.UndoOf("pay", undo("pay"))).
			OnStop(mrtr.UndoOf("print", undo("print")), mrtr.UndoOf("never", undo("never")))
	}
	var list kit.Steps
	seat := steps.Do(&list, "reserve", kit.Does("reserve", &did, "seat"))
	steps.Always(&list, kit.Text("q"))
	card := steps.Do(&list, "pay", kit.Does("pay", &did, "card"))
	steps.Always(&list, kit.Text("r"))
	list.End(kit.End("done"))
	steps.OnStop(&list, card, undo("pay"))
	steps.OnStop(&list, seat, undo("reserve"))
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		for _, elsewhere := range []bool{false, true} {
			if elsewhere && name == "coroutine" {
				continue // its frame stands here
			}
			undone = nil
			tool := kit.ServeTrip(t, style)
			asked := tool.Answer(tool.Begin(), "x")
			if elsewhere {
				tool = kit.ServeTrip(t, style)
			}
			last := tool.Round(t.Context(), "", asked.State, kit.Declining(asked))
			require.Equal(t, []string{"pay", "reserve"}, slices.Sorted(slices.Values(kit.Ended(t, last.Err, mrtr.Declined, name).Undone)), name)
			require.Equal(t, []string{"pay card", "reserve seat"}, undone, name)
		}
	}
}

func nothingPrinted(context.Context, string) (string, error) { return "", errors.New("no paper") }

// A held handler whose time is up, or whose runtime closes, is undone, and not again by the answer
// that comes too late. One that can be replayed elsewhere is not, for its call may go on.
func TestAHeldHandlerThatIsLetGoIsUndone(t *testing.T) {
	kit.Differs(t, "what an abandoned call did is undone by the store's time")
	for _, name := range []string{"coroutine", "resumable"} {
		kit.InBubble(t, name, func(t *testing.T) {
			var ended atomic.Int32
			r := &reserving{undo: func() error {
				time.Sleep(time.Second)
				ended.Add(1)
				return nil
			}}
			rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}})
			tool := kit.NewTrip(rt, r.styles()[name], "")
			undone := map[bool]int32{true: 1}[name == "coroutine"]
			for _, late := range []time.Duration{time.Minute + time.Second/2, 2 * time.Minute} { // while it is undone, and after that
				asked := tool.Begin()
				time.Sleep(late)
				last := tool.Answer(asked, "x")
				if name == "coroutine" {
					require.ErrorContains(t, last.Err, isUndone)
					declined := tool.Round(t.Context(), "", asked.State, kit.Declining(asked))
					require.ErrorContains(t, declined.Err, isUndone)
				}
				require.Equal(t, undone, ended.Swap(0))
			}
			tool.Begin()
			require.NoError(t, rt.Close())
			require.Equal(t, undone, ended.Load())
		})
	}
}

// A handler ends, or its client leaves, while an effect of its still runs on a goroutine that it
// left behind. The call waits for the effect, and undoes it then.
func TestAnUndoWaitsForTheEffectThatStillRuns(t *testing.T) {
	for style := range kit.EveryStyle(kit.Around(nil)) {
		for _, leaves := range []bool{false, true} {
			if leaves && kit.StoreForced() {
				continue // its round goes on
			}
			kit.InBubble(t, fmt.Sprint(style, ", its client leaves: ", leaves), func(t *testing.T) {
				var log []string
				began, end := make(chan struct{}), make(chan struct{})
				undo := mrtr.UndoOf("pay", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
					log = append(log, "undone "+u.Value)
					return nil
				})
				tool := kit.ServeTrip(t, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("q"))
					go func() {
						_, _ = mrtr.Once(s.Ctx, s.Call, "pay", func(context.Context, string) (string, error) {
							close(began)
							<-end
							log = append(log, "paid")
							return "10", nil
						})
					}()
					<-began
					if leaves {
						<-s.Ctx.Done()
					}
					return kit.Out{}, errors.New("no chairs")
				})[style].OnStop(undo))
				asked := tool.Begin()
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				reply := kit.UnderWay(func() kit.Reply { return tool.Round(ctx, "", asked.State, kit.Accepting(asked, "x")) })
				<-began
				if leaves {
					hangUp()
				}
				synctest.Wait()
				require.Empty(t, log)
				close(end)
				require.ErrorContains(t, (<-reply).Err, `"pay" was undone.`)
				require.Equal(t, []string{"paid", "undone 10"}, log)
			})
		}
	}
}

// A handler asks while an effect runs that it left to another goroutine. The round that would begin
// could not know of it, so the call ends.
func TestNothingIsAskedWhileAnEffectRuns(t *testing.T) {
	for style := range kit.EveryStyle(kit.Around(nil)) {
		kit.InBubble(t, style, func(t *testing.T) {
			var paid atomic.Int32
			began := make(chan struct{})
			tool := kit.ServeTrip(t, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				go func() {
					_, _ = mrtr.Once(s.Ctx, s.Call, "pay", func(context.Context, string) (string, error) {
						close(began)
						time.Sleep(time.Minute)
						paid.Add(1)
						return "10", nil
					})
				}()
				<-began
				kit.Ask(s, kit.Text("q"))
				return kit.Out{}, nil
			})[style])
			require.ErrorContains(t, tool.Begin().Err, `question "q" is asked while effect "pay" is running`)
			time.Sleep(time.Hour)
			require.EqualValues(t, 1, paid.Load())
		})
	}
}

// A decline reaches an instance that drains, undoes there while a handler is held, and is left to
// another instance after that.
func TestADeclineReachesAnInstanceThatDrains(t *testing.T) {
	for _, style := range []string{"journal", "resumable"} {
		kit.InBubble(t, style, func(t *testing.T) {
			r := &reserving{undo: func() error { return nil }}
			tool, other := kit.ServeTrip(t, r.styles()[style]), kit.ServeTrip(t, r.styles()[style])
			first, second := tool.Begin(), tool.Begin()
			waiting := &kit.Trip{Runtime: tool.Runtime, Handler: mrtr.Tool(tool.Runtime, linear.Coroutine(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				return kit.Out{Plan: kit.Ask(s, kit.Text("q"))}, nil
			})), &mrtr.HandlerOptions{Audience: "waiting"})}
			held := waiting.Begin()
			end := make(chan error, 1)
			go func() { end <- tool.Runtime.Drain(t.Context()) }()
			synctest.Wait()
			require.Empty(t, end, "a handler is held")
			decline := func(at *kit.Trip, asked kit.Reply) error {
				return at.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err
			}
			require.Equal(t, []string{"reserve"}, kit.Ended(t, decline(tool, first), mrtr.Declined).Undone)
			require.Equal(t, "x", waiting.Answer(held, "x").Plan)
			require.NoError(t, <-end)
			kit.Code(t, decline(tool, second), -31001)
			require.Len(t, r.undos, 1)
			require.Equal(t, []string{"reserve"}, kit.Ended(t, decline(other, second), mrtr.Declined).Undone)
			require.Len(t, r.undos, 2)
		})
	}
}

// An undo that cannot be one is found where the handler is registered, or the list built.
func TestUndosThatCannotBe(t *testing.T) {
	undo := func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { return nil }
	style := kit.GuardedTrip(func(context.Context, *mrtr.Call) (string, error) { return "", nil })
	for want, undos := range map[string][]mrtr.Undoing{
		`mrtr: key "k" stands for two undos: each needs a key of its own`: {mrtr.UndoOf("k", undo), mrtr.UndoOf("k", undo)},
		`mrtr: the undo of "k" has no function`:                           {mrtr.UndoOf[string]("k", nil)},
		`mrtr: key "": a key has 1 to 64 characters`:                      {mrtr.UndoOf("", undo)},
	} {
		require.PanicsWithError(t, want, func() { mrtr.Tool(kit.TripRuntime(t, nil), style.OnStop(undos...), nil) })
	}
	build := func(add func(list *kit.Steps)) error {
		var list kit.Steps
		add(&list)
		list.End(kit.End(""))
		_, err := list.Build()
		return kit.Misuse(t, err)
	}
	require.EqualError(t, build(func(list *kit.Steps) { steps.OnStop(list, steps.Always(list, kit.Text("q")), undo) }),
		`mrtr: OnStop undoes "q", which is no doing step of the list`)
	require.EqualError(t, build(func(list *kit.Steps) {
		step := steps.Do(list, "k", kit.Does("k", &kit.Deeds{}, ""))
		steps.OnStop(list, step, undo)
		steps.OnStop(list, step, undo)
	}), `mrtr: key "k" stands for two undos: each needs a key of its own`)

	// Which effects guarded code has shows when they happen: then the log tells of a misspelt key.
	seen := &kit.Recorder{}
	misspelt := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Listener: observe.With(seen)}), mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Once(s, "reserve", func(context.Context, string) (string, error) { return "1A", nil })
		kit.Once(s, "page", func(context.Context, string) (string, error) { return "", nil })
		return kit.Out{}, errors.New("no chairs")
	})).OnStop(mrtr.UndoOf("resreve", undo)), "").Begin()
	require.ErrorContains(t, misspelt.Err, "no chairs.")
	require.Len(t, seen.Of(observe.EffectNotUndone), 1)
	require.EqualError(t, kit.Misuse(t, seen.Of(observe.EffectNotUndone)[0].Err), `mrtr: effect "reserve" has no undo: is that of "resreve" meant for it?`)

	// Stop with another type than the output's.
	wrong := mrtr.Native(kit.Guarded(func(*kit.Stage, kit.In) (kit.Out, error) { return kit.Out{}, mrtr.Stop(7) }))
	require.EqualError(t, kit.Misuse(t, kit.ServeTrip(t, wrong).Begin().Err), "mrtr: Stop has a int, and the handler's output is a kit.Out")

	// A value that the undo cannot read is not undone, and that is told.
	last := kit.ServeTrip(t, mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Once(s, "reserve", func(context.Context, string) (string, error) { return "1A", nil })
		return kit.Out{}, errors.New("no chairs")
	})).OnStop(mrtr.UndoOf("reserve", func(context.Context, *mrtr.Call, mrtr.Undo[int]) error { return nil }))).Begin()
	require.EqualError(t, last.Err, "no chairs."+isKept)
}
