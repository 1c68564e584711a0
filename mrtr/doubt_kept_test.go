package mrtr_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// An effect that failed in an earlier round, and is in doubt in one that is let go of, stays
// in doubt for the request that goes on there.
func TestDoubtAfterAFailureOutlivesItsRound(t *testing.T) {
	outcomes := []error{errors.New("refused"), io.EOF}
	runs := 0
	style := mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
		for _, q := range []string{"seat", "pay"} {
			ask(s, text(q))
			_, _ = mrtr.Once(s.ctx, s.Call, "mail", func(context.Context, string) (string, error) {
				runs++
				return "", outcomes[min(runs, 2)-1]
			})
		}
		return tripOut{Plan: "done"}, nil
	}))
	tool := newTrip(newTripRuntime(t, withStore(store.NewMemory(nil))), style, "")
	pay := tool.answer(tool.begin(), "window")
	require.NoError(t, pay.err)
	require.Equal(t, 1, runs)
	for range 3 {
		ended(t, tool.answer(pay, "yes").err, mrtr.OutcomeUnknown)
		require.Equal(t, 2, runs, "an effect in doubt does not run again")
	}
}

// An instance dies in an effect, and the one that takes over has questions in other words.
// It does not ask again: the effect may have happened, and stands on the old answer. A Check
// could not find it either, since the idem of the effect would be another.
func TestATakeoverDoesNotGoBackBehindADoubt(t *testing.T) {
	for _, name := range []string{"steps", "journal"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did deeds
				memory := store.NewMemory(nil)
				serve := func(i *instance, question string) *tripTool {
					q := mrtr.Elicit[string]("seat", question)
					pay := func(context.Context, string) (string, error) {
						did.note("paid")
						i.reach(afterEffect)
						return "paid", nil
					}
					check := &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) { return "", false, nil }}
					var list tripSteps
					mrtr.AskQuestion(&list, "seat", q)
					mrtr.DoStep(&list, "pay", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return pay(ctx, idem) }, check)
					list.End(ends("done"))
					style := mustBuild(t, &list)
					if name == "journal" {
						style = mrtr.Journal(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
							ask(s, q)
							_, err := mrtr.Once(s.ctx, s.Call, "pay", pay, check)
							return tripOut{Plan: "done"}, err
						}))
					}
					rt := newTripRuntime(t, &mrtr.Options{Store: i, Observer: i})
					return &tripTool{rt: rt, handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Version: question})}
				}
				first, second := newInstance(memory, afterEffect), newInstance(memory, "")
				dying, living := serve(first, "Which seat?"), serve(second, "Which of the seats?")
				seat := dying.begin()
				defer first.goOn()
				first.stopsIn(func() tripReply { return dying.answer(seat, "window") })
				for range 2 {
					e := ended(t, living.answer(seat, "window").err, mrtr.Diverged)
					require.Equal(t, []string{"pay"}, e.Unknown)
				}
				require.Equal(t, 1, did.count("paid"))
			})
		})
	}
}

// An effect that may run again, because its author says so, is as much in doubt as before
// when the second attempt is refused: the first one, of an instance that died, may have
// happened.
func TestDoubtOutlivesAnAttemptThatIsRefused(t *testing.T) {
	for name, style := range map[string]linearStyle{"journal": mrtr.Journal[tripIn, tripOut], "resumable": mrtr.Resumable[tripIn, tripOut]} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did deeds
				memory := store.NewMemory(nil)
				serve := func(i *instance) *tripTool {
					h := style(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
						ask(s, text("seat"))
						_, err := mrtr.Once(s.ctx, s.Call, "pay", func(context.Context, string) (string, error) {
							if did.note("tried") > 1 {
								return "", errors.New("refused")
							}
							i.reach(afterEffect)
							return "paid", nil
						}, &mrtr.EffectOptions[string]{Again: true})
						return tripOut{}, err
					}))
					rt := newTripRuntime(t, &mrtr.Options{Store: i, Observer: i})
					return &tripTool{rt: rt, handler: mrtr.Tool(rt, h, nil)}
				}
				first, second := newInstance(memory, afterEffect), newInstance(memory, "")
				dying, living := serve(first), serve(second)
				seat := dying.begin()
				defer first.goOn()
				first.stopsIn(func() tripReply { return dying.answer(seat, "window") })
				reply := living.answer(seat, "window")
				require.ErrorContains(t, reply.err, "refused")
				require.Equal(t, 2, did.count("tried"))
				require.Equal(t, "unknown", effectOf(reply.err))
			})
		})
	}
}
