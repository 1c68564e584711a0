package durable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// both hands events to a test and to the log.
type both struct {
	kit.Recorder
	log observe.Observer
}

func (b *both) Observe(ctx context.Context, e observe.Event) {
	b.Recorder.Observe(ctx, e)
	b.log.Observe(ctx, e)
}

// An effect of which nobody knows whether it happened is one warning in the log and one event,
// with its name: in every style, as Once and as a step, with a store and without. An effect
// whose end is known is none.
func TestAnEffectInDoubtIsLoud(t *testing.T) {
	ends := map[string]struct {
		end   func() (string, error)
		doubt bool
	}{
		"done":          {func() (string, error) { return "paid", nil }, false},
		"an error":      {func() (string, error) { return "", errors.New("no money") }, false},
		"not done":      {func() (string, error) { return "", mrtr.NotDone(context.DeadlineExceeded) }, false},
		"indeterminate": {func() (string, error) { return "", mrtr.ErrIndeterminate }, true},
		"a broken line": {func() (string, error) { return "", io.ErrUnexpectedEOF }, true},
		"a timeout":     {func() (string, error) { return "", context.DeadlineExceeded }, true},
		"a panic":       {func() (string, error) { panic("ouch") }, true},
		"an exit":       {func() (string, error) { runtime.Goexit(); return "", nil }, true},
	}
	for explanation, c := range ends {
		pay := func(context.Context, string) (string, error) { return c.end() }
		styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			kit.Ask(s, kit.Text("seat"))
			paid, err := mrtr.Once(s.Ctx, s.Call, "pay", pay)
			return kit.Out{Plan: paid}, err
		})
		var list kit.Steps
		steps.Always(&list, kit.Text("seat"))
		paid := steps.Do(&list, "pay", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return pay(ctx, idem) })
		list.End(func(_ context.Context, at *kit.At) (kit.Out, error) { return kit.Out{Plan: paid.Of(at)}, nil })
		styles["steps"] = kit.Build(t, &list)
		for name, style := range styles {
			for _, stored := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, store %t", explanation, name, stored), func(t *testing.T) {
					var log strings.Builder
					seen := &both{log: observe.Log(slog.New(slog.NewTextHandler(&log, nil)))}
					o := &mrtr.Options{Listener: observe.With(seen)}
					if stored {
						o.Durable = durable.In(&hookedStore{Memory: store.NewMemory(nil), scope: store.Machine}, nil)
					}
					tool := kit.NewTrip(kit.TripRuntime(t, o), style, "")
					tool.Answer(tool.Begin(), "window")
					want := 0
					if c.doubt {
						want = 1
					}
					events := seen.Of(observe.EffectInDoubt)
					require.Len(t, events, want)
					require.Equal(t, want, strings.Count(log.String(), `level=WARN msg="effect in doubt"`), log.String())
					for _, e := range events {
						require.Equal(t, "pay", e.Effect)
						require.NotEmpty(t, e.Call)
						require.Equal(t, "trip", e.Name)
					}
				})
			}
		}
	}
}

// An effect that another instance had begun when it died is in doubt where its round is taken
// over, unless a Check can tell.
func TestInheritedDoubtIsLoud(t *testing.T) {
	for _, style := range []string{"journal", "resumable", "steps", "native, again"} {
		for explanation, opts := range map[string]*mrtr.EffectOptions[string]{
			"nobody knows":  nil,
			"a check knows": {Check: func(context.Context, string) (string, bool, error) { return "paid", true, nil }},
		} {
			synctest.Test(t, func(t *testing.T) {
				var did kit.Deeds
				memory := store.NewMemory(nil)
				first, second := newInstance(memory, afterEffect), newInstance(memory, "")
				dying, living := first.serve(t, style, &did, opts), second.serve(t, style, &did, opts)
				seat := dying.Begin()
				own := first.stopsIn(func() kit.Reply { return dying.Answer(seat, "window") })
				living.Answer(seat, "window")
				want := 1
				if opts != nil {
					want = 0
				}
				require.Len(t, second.events.Of(observe.EffectInDoubt), want, "%s, %s", style, explanation)
				for _, e := range second.events.Of(observe.EffectInDoubt) {
					require.Equal(t, "pay", e.Effect)
				}
				first.goOn()
				<-own
			})
		}
	}
}

// An effect that failed in an earlier round, and is in doubt in one that is let go of, stays
// in doubt for the request that goes on there.
func TestDoubtAfterAFailureOutlivesItsRound(t *testing.T) {
	outcomes := []error{errors.New("refused"), io.EOF}
	runs := 0
	style := mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		for _, q := range []string{"seat", "pay"} {
			kit.Ask(s, kit.Text(q))
			_, _ = mrtr.Once(s.Ctx, s.Call, "mail", func(context.Context, string) (string, error) {
				runs++
				return "", outcomes[min(runs, 2)-1]
			})
		}
		return kit.Out{Plan: "done"}, nil
	}))
	tool := kit.NewTrip(kit.TripRuntime(t, withStore(store.NewMemory(nil))), style, "")
	pay := tool.Answer(tool.Begin(), "window")
	require.NoError(t, pay.Err)
	require.Equal(t, 1, runs)
	for range 3 {
		kit.Ended(t, tool.Answer(pay, "yes").Err, mrtr.OutcomeUnknown)
		require.Equal(t, 2, runs, "an effect in doubt does not run again")
	}
}

// An instance dies in an effect, and the one that takes over has questions in other words.
// It does not ask again: the effect may have happened, and stands on the old answer. A Check
// could not find it either, since the idem of the effect would be another.
func TestATakeoverDoesNotGoBackBehindADoubt(t *testing.T) {
	for _, name := range []string{"steps", "journal"} {
		kit.InBubble(t, name, func(t *testing.T) {
			var did kit.Deeds
			memory := store.NewMemory(nil)
			serve := func(i *instance, question string) *kit.Trip {
				q := mrtr.Elicit[string]("seat", question)
				pay := func(context.Context, string) (string, error) {
					did.Note("paid")
					i.reach(afterEffect)
					return "paid", nil
				}
				check := &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) { return "", false, nil }}
				var list kit.Steps
				steps.Always(&list, q)
				steps.Do(&list, "pay", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return pay(ctx, idem) }, check)
				list.End(kit.End("done"))
				style := kit.Build(t, &list)
				if name == "journal" {
					style = linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
						kit.Ask(s, q)
						_, err := mrtr.Once(s.Ctx, s.Call, "pay", pay, check)
						return kit.Out{Plan: "done"}, err
					}))
				}
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(i)})
				return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Version: question})}
			}
			first, second := newInstance(memory, afterEffect), newInstance(memory, "")
			dying, living := serve(first, "Which seat?"), serve(second, "Which of the seats?")
			seat := dying.Begin()
			defer first.goOn()
			first.stopsIn(func() kit.Reply { return dying.Answer(seat, "window") })
			for range 2 {
				e := kit.Ended(t, living.Answer(seat, "window").Err, mrtr.Diverged)
				require.Equal(t, []string{"pay"}, e.Unknown)
			}
			require.Equal(t, 1, did.Count("paid"))
		})
	}
}

// An effect that may run again, because its author says so, is as much in doubt as before
// when the second attempt is refused: the first one, of an instance that died, may have
// happened.
func TestDoubtOutlivesAnAttemptThatIsRefused(t *testing.T) {
	for name, style := range map[string]kit.LinearStyle{"journal": linear.Journal[kit.In, kit.Out], "resumable": linear.Resumable[kit.In, kit.Out]} {
		kit.InBubble(t, name, func(t *testing.T) {
			var did kit.Deeds
			memory := store.NewMemory(nil)
			serve := func(i *instance) *kit.Trip {
				h := style(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("seat"))
					_, err := mrtr.Once(s.Ctx, s.Call, "pay", func(context.Context, string) (string, error) {
						if did.Note("tried") > 1 {
							return "", errors.New("refused")
						}
						i.reach(afterEffect)
						return "paid", nil
					}, &mrtr.EffectOptions[string]{Again: true})
					return kit.Out{}, err
				}))
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(i)})
				return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, h, nil)}
			}
			first, second := newInstance(memory, afterEffect), newInstance(memory, "")
			dying, living := serve(first), serve(second)
			seat := dying.Begin()
			defer first.goOn()
			first.stopsIn(func() kit.Reply { return dying.Answer(seat, "window") })
			reply := living.Answer(seat, "window")
			require.ErrorContains(t, reply.Err, "refused")
			require.Equal(t, 2, did.Count("tried"))
			require.Equal(t, "unknown", kit.EffectOf(reply.Err))
		})
	}
}
