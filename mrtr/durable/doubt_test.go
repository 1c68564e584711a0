package durable_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

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
			}, &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) {
				return "", false, errors.New("the post office is closed")
			}})
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
