package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// An instance dies after its effect or in it, the one that takes over dies too, before it
// has written anything of its own, and a third one ends the call. The effect happened once:
// the second one holds what the first one has left, and hands it on.
func TestTwoDeaths(t *testing.T) {
	const ok, unknown = "ok", "unknown"
	rows := []struct {
		first, second string // where they die
		check         bool
		answer        string
		paid          int // when the third one has answered
	}{
		{afterClaim, afterClaim, false, ok, 1},
		{afterClaim, effectNoted, false, ok, 1},
		{afterClaim, afterEffect, false, unknown, 1},
		{effectBegun, afterClaim, false, unknown, 0},
		{afterEffect, afterClaim, false, unknown, 1},
		{effectEnded, afterClaim, false, unknown, 1},
		{effectEnded, afterClaim, true, ok, 1},
		{afterEffect, afterClaim, true, ok, 1},
		{afterEffect, effectNoted, true, ok, 1},
		{effectNoted, afterClaim, false, ok, 1},
		{effectNoted, effectNoted, false, ok, 1},
		{effectNoted, afterClaim, true, ok, 1},
	}
	require.NotEmpty(t, rows)
	for _, style := range []string{"native, again", "journal", "resumable", "steps"} {
		for _, row := range rows {
			kit.InBubble(t, fmt.Sprintf("%s/%s/%s/check=%t", style, row.first, row.second, row.check), func(t *testing.T) {
				var did kit.Deeds
				opts := (*mrtr.EffectOptions[string])(nil)
				if row.check {
					opts = &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) { return "paid", did.Count("paid") > 0, nil }}
				}
				memory := store.NewMemory(nil)
				begun := newInstance(memory, "").serve(t, style, &did, opts)
				asked := begun.Ends(t, begun.Begin())
				var woken []chan kit.Reply
				var dead []*instance
				for _, place := range []string{row.first, row.second} {
					i, own := newInstance(memory, place), make(chan kit.Reply, 1)
					tool := i.serve(t, style, &did, opts)
					go func() { own <- tool.Answer(asked, "window") }()
					<-i.stopped
					dead, woken = append(dead, i), append(woken, own)
				}
				third := newInstance(memory, "")
				living := third.serve(t, style, &did, opts)
				reply := living.Answer(asked, "window")
				require.Len(t, third.events.Of(observe.RoundTakenOver), 1)
				require.Equal(t, row.paid, did.Count("paid"))
				if row.answer == ok {
					require.Equal(t, kit.Reply{Plan: "window paid"}, reply)
				} else {
					require.Equal(t, []string{"pay"}, kit.Ended(t, reply.Err, mrtr.OutcomeUnknown).Unknown)
				}
				for n, i := range dead {
					i.goOn()
					if late := <-woken[n]; row.answer == ok {
						require.Equal(t, reply, late)
					}
				}
				require.Equal(t, 1, did.Count("paid"))
				if row.answer == ok {
					require.Equal(t, reply, living.Answer(asked, "window"))
				}
			})
		}
	}
}

// A round whose questions went out, and were not recorded, runs again where the client
// sends its request again, and may then ask in other words: the price has moved. Both
// states are those of one turn. A yes to the old words is none to the new ones.
func TestAYesIsToTheWordsThatWereAsked(t *testing.T) {
	for _, name := range []string{"native", "journal", "resumable", "steps"} {
		kit.InBubble(t, name, func(t *testing.T) {
			memory := store.NewMemory(nil)
			lonely := newInstance(memory, "")
			price, paid := 10, 0
			pay := func() mrtr.Question[string] { return mrtr.Elicit[string]("pay", fmt.Sprintf("Pay %d?", price)) }
			charge := func(context.Context, string) (string, error) {
				paid += price
				return fmt.Sprint("paid ", price), nil
			}
			styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("seat"))
				kit.Ask(s, pay())
				return kit.Out{Plan: kit.Once(s, "charge", charge)}, nil
			})
			var list kit.Steps
			steps.Always(&list, kit.Text("seat"))
			steps.Ask(&list, "pay", func(context.Context, *kit.At) (mrtr.Question[string], error) { return pay(), nil })
			plan := steps.Do(&list, "charge", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return charge(ctx, idem) })
			list.End(func(_ context.Context, at *kit.At) (kit.Out, error) { return kit.Out{Plan: plan.Of(at)}, nil })
			styles["steps"] = list.MustBuild()
			serve := func(i *instance) *kit.Trip {
				opts := &mrtr.HandlerOptions{RunAgain: true}
				return &kit.Trip{Handler: mrtr.Tool(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil)}), styles[name], opts)}
			}
			one, other := serve(lonely), serve(newInstance(memory, ""))
			seat := one.Begin()
			lonely.on(func(op operation) error {
				if op.name == "update" {
					return errors.New("no answer came")
				}
				return nil
			})
			old := one.Answer(seat, "window")
			require.Equal(t, []string{"pay"}, old.Asks)
			time.Sleep(time.Minute)
			price = 12
			anew := other.Answer(seat, "window")
			lonely.fail(nil)
			time.Sleep(time.Minute)
			require.Equal(t, []string{"pay"}, anew.Asks, "%v", anew.Err)
			require.Equal(t, kit.Reply{Plan: "paid 12"}, other.Answer(anew, "yes"))
			refusedOtherwise(t, other.Answer(old, "yes"))
			require.Equal(t, 12, paid)
		})
	}
}

// An instance dies while it undoes a call that has failed, or before the end is on record.
// The one that takes over does not complete the call, though its handler would not fail
// now: what it would report as paid may be refunded.
func TestACallThatWasBeingUndoneDoesNotComplete(t *testing.T) {
	for cut, c := range map[string]struct {
		holds           bool  // an effect that is undone after the payment, and whose beginning says that
		writes          int32 // that reach the store after the refund
		undone, unknown []string
	}{
		"in the only undoing":      {false, 0, nil, []string{"pay"}},
		"in the first of two":      {true, 0, []string{"hold"}, []string{"pay"}},
		"in the second of the two": {true, 1, []string{"pay"}, []string{"hold"}},
	} {
		for name, again := range map[string]bool{"journal": false, "resumable": false, "native": true} {
			kit.InBubble(t, name+"/"+cut, func(t *testing.T) {
				memory := store.NewMemory(nil)
				var did kit.Deeds
				fails, writes := true, atomic.Int32{}
				style := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("q"))
					if c.holds {
						kit.Once(s, "hold", did.Do("held"))
					}
					kit.Once(s, "pay", did.Do("paid"))
					if fails {
						fails = false
						return kit.Out{}, errors.New("the catalogue is down")
					}
					return kit.Out{Plan: "paid"}, nil
				})[name].OnStop(kit.UndoWith("pay", func() error { did.Note("refunded"); return nil }))
				if c.holds {
					style = style.OnStop(kit.UndoWith("hold", func() error { did.Note("released"); return nil }))
				}
				serve := func(i *instance) *kit.Trip {
					rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(&i.events)})
					return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{RunAgain: again})}
				}
				dying := newInstance(memory, "")
				dying.on(func(op operation) error {
					if did.Count("refunded") == 0 || op.name != "update" {
						return nil
					}
					if writes.Add(1) <= c.writes {
						return nil
					}
					return errors.New("cut off")
				})
				first := serve(dying)
				asked := first.Begin()
				require.Error(t, first.Answer(asked, "x").Err)
				require.Equal(t, 1, did.Count("refunded"))
				time.Sleep(time.Minute) // the lease is over

				other := newInstance(memory, "")
				last := serve(other).Answer(asked, "x")
				e := kit.Ended(t, last.Err, mrtr.OutcomeUnknown)
				require.Equal(t, c.undone, e.Undone, "%+v", e)
				require.Equal(t, c.unknown, e.Unknown, "%+v", e)
				require.Equal(t, c.holds, did.Count("released") == 1)
				require.Equal(t, 1, did.Count("paid"))
				require.Equal(t, 1, did.Count("refunded"))
				dying.fail(nil)
			})
		}
	}
}

// An instance dies in an effect, and the client plays the whole call again elsewhere. It is told
// once that nobody knows whether the effect happened. That ends the call: its user has looked into
// it, and the next equal request is meant as another call.
func TestAReplayAfterACrashInAnEffect(t *testing.T) {
	for _, style := range []string{"native", "native, again", "journal", "resumable", "steps", "coroutine"} {
		kit.InBubble(t, style, func(t *testing.T) {
			var did kit.Deeds
			memory := store.NewMemory(nil)
			first, second := newInstance(memory, afterEffect), newInstance(memory, "")
			dying, living := first.serve(t, style, &did, nil), second.serve(t, style, &did, nil)
			own := first.stopsIn(func() kit.Reply { return dying.Answer(dying.Begin(), "window") })
			kit.Ended(t, living.Answer(living.Begin(), "window").Err, mrtr.OutcomeUnknown)
			require.Equal(t, 1, did.Count("paid"))
			require.Equal(t, kit.Reply{Plan: "window paid"}, living.Answer(living.Begin(), "window"))
			require.Equal(t, 2, did.Count("paid"))
			first.goOn()
			<-own
		})
	}
}

// A branch that takes a turn over has it from then on: its repeats get the outcome, and the branch
// that had the turn first is a call of its own when it comes back.
func TestABranchThatTakesOverHasTheTurn(t *testing.T) {
	for _, style := range []string{"native, again", "journal", "resumable", "steps"} {
		kit.InBubble(t, style, func(t *testing.T) {
			var did kit.Deeds
			memory := store.NewMemory(nil)
			first, second := newInstance(memory, effectNoted), newInstance(memory, "")
			dying, living := first.serve(t, style, &did, nil), second.serve(t, style, &did, nil)
			one, two := dying.Begin(), living.Begin()
			own := first.stopsIn(func() kit.Reply { return dying.Answer(one, "window") })
			for range 2 {
				require.Equal(t, kit.Reply{Plan: "window paid"}, living.Answer(two, "window"))
				require.Equal(t, 1, did.Count("paid"))
			}
			require.Equal(t, kit.Reply{Plan: "window paid"}, living.Answer(one, "window"))
			require.Equal(t, 2, did.Count("paid"))
			first.goOn()
			<-own
		})
	}
}

// A first round that ran, and whose questions the store did not take, holds no handler: nobody has
// the state that would answer it, and a drain would wait for that.
func TestAFirstRoundThatIsNotKeptHoldsNothing(t *testing.T) {
	for _, style := range []string{"coroutine", "resumable"} {
		t.Run(style, func(t *testing.T) {
			records := newHookedStore()
			records.scope = store.Machine
			var down atomic.Bool
			down.Store(true)
			records.on(func(op operation) error {
				if down.Load() && op.name == "create" {
					return errors.New("the store is down")
				}
				return op.Err()
			})
			rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(records, nil)})
			tool := kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				return kit.Out{Plan: kit.Ask(s, kit.Text("seat"))}, nil
			})[style], "")
			kit.Code(t, tool.Begin().Err, -31001)
			require.Zero(t, rt.Stats().Held)
			down.Store(false)
			require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(tool.Begin(), "window"))
		})
	}
}

// An instance stands still at the end of a turn, and another branch takes the turn over. The branch
// that lost it is a call of its own, and the same one when its request comes again.
func TestABranchThatLosesItsTurnAtWorkSplitsOnce(t *testing.T) {
	for _, style := range []string{"journal", "resumable"} {
		kit.InBubble(t, style, func(t *testing.T) {
			var did kit.Deeds
			memory := store.NewMemory(nil)
			serve := func(i *instance) *kit.Trip {
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(i)})
				return kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("seat"))
					kit.Once(s, "hold", did.Do("hold"))
					i.passEnd()
					kit.Ask(s, kit.Text("sure"))
					kit.Once(s, "pay", did.Do("pay"))
					return kit.Out{Plan: "paid"}, nil
				})[style], "")
			}
			first, second := newInstance(memory, effectNoted), newInstance(memory, "")
			slow, other := serve(first), serve(second)
			one, two := slow.Begin(), other.Begin()
			own := first.stopsIn(func() kit.Reply { return slow.Answer(one, "window") })
			taken := other.Answer(two, "window")
			require.Equal(t, 1, did.Count("hold"))
			first.goOn()
			reply := <-own
			require.Equal(t, []string{"sure"}, reply.Asks, "%v", reply.Err)
			require.Equal(t, []string{"sure"}, other.Answer(one, "window").Asks)
			require.Equal(t, 2, did.Count("hold"))
			for _, asked := range []kit.Reply{taken, reply} {
				require.Equal(t, kit.Reply{Plan: "paid"}, other.Answer(asked, "yes"))
			}
			require.Equal(t, 2, did.Count("pay"))
		})
	}
}

// A client with a key begins its call anew, and the store has lost the record of the call. The check of
// the payment finds the first one: both have the same idempotency key.
func TestACallWithAKeyFindsItsPaymentWithoutItsRecord(t *testing.T) {
	var paid kit.Deeds
	check := &mrtr.EffectOptions[string]{CheckFirst: true, Check: func(_ context.Context, idem string) (string, bool, error) {
		return "paid", paid.Count(idem) > 0, nil
	}}
	for name, style := range kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		plan, err := mrtr.Once(s.Ctx, s.Call, "pay", func(_ context.Context, idem string) (string, error) {
			paid.Note(idem)
			return "paid", nil
		}, check)
		kit.Unless(err, plan)
		kit.Ask(s, kit.Text("seat"))
		return kit.Out{Plan: plan}, nil
	}) {
		t.Run(name, func(t *testing.T) {
			clear(paid.Done)
			buys := func(key, who string) {
				tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{
					Durable: durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil),
					SameKey: func(context.Context, mcp.Request) string { return key },
				}), style, "")
				asked := tool.Round(t.Context(), who, "", nil)
				require.NoError(t, asked.Err)
				require.Equal(t, kit.Reply{Plan: "paid"}, tool.Round(t.Context(), who, asked.State, kit.Accepting(asked, "window")))
			}
			for n, order := range [][2]string{{"1", "ann"}, {"2", "ann"}, {"1", "bob"}} {
				buys(order[0], order[1])
				buys(order[0], order[1])
				require.Len(t, paid.Done, n+1)
			}
			for idem, times := range paid.Done {
				require.Equal(t, 1, times, idem)
			}
		})
	}
}
