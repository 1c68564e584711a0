package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
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
			inBubble(t, fmt.Sprintf("%s/%s/%s/check=%t", style, row.first, row.second, row.check), func(t *testing.T) {
				var did deeds
				opts := (*mrtr.EffectOptions[string])(nil)
				if row.check {
					opts = &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) { return "paid", did.count("paid") > 0, nil }}
				}
				memory := store.NewMemory(nil)
				begun := newInstance(memory, "").serve(t, style, &did, opts)
				asked := begun.ends(t, begun.begin())
				var woken []chan tripReply
				var dead []*instance
				for _, place := range []string{row.first, row.second} {
					i, own := newInstance(memory, place), make(chan tripReply, 1)
					tool := i.serve(t, style, &did, opts)
					go func() { own <- tool.answer(asked, "window") }()
					<-i.stopped
					dead, woken = append(dead, i), append(woken, own)
				}
				third := newInstance(memory, "")
				living := third.serve(t, style, &did, opts)
				reply := living.answer(asked, "window")
				require.Len(t, third.events.of(observe.RoundTakenOver), 1)
				require.Equal(t, row.paid, did.count("paid"))
				if row.answer == ok {
					require.Equal(t, tripReply{plan: "window paid"}, reply)
				} else {
					require.Equal(t, []string{"pay"}, ended(t, reply.err, mrtr.OutcomeUnknown).Unknown)
				}
				for n, i := range dead {
					i.goOn()
					if late := <-woken[n]; row.answer == ok {
						require.Equal(t, reply, late)
					}
				}
				require.Equal(t, 1, did.count("paid"))
				if row.answer == ok {
					require.Equal(t, reply, living.answer(asked, "window"))
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
		inBubble(t, name, func(t *testing.T) {
			s := newHookedStore()
			s.scope = store.Machine
			price, paid := 10, 0
			pay := func() mrtr.Question[string] { return mrtr.Elicit[string]("pay", fmt.Sprintf("Pay %d?", price)) }
			charge := func(context.Context, string) (string, error) {
				paid += price
				return fmt.Sprint("paid ", price), nil
			}
			styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
				ask(s, text("seat"))
				ask(s, pay())
				return tripOut{Plan: once(s, "charge", charge)}, nil
			})
			var list tripSteps
			steps.Always(&list, text("seat"))
			steps.Ask(&list, "pay", func(context.Context, *tripAt) (mrtr.Question[string], error) { return pay(), nil })
			plan := steps.Do(&list, "charge", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return charge(ctx, idem) })
			list.End(func(_ context.Context, at *tripAt) (tripOut, error) { return tripOut{Plan: plan.Of(at)}, nil })
			styles["steps"] = list.MustBuild()
			serve := func() *tripTool {
				opts := &mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain}
				return &tripTool{handler: mrtr.Tool(newTripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), styles[name], opts)}
			}
			one, other := serve(), serve()
			seat := one.begin()
			s.on(func(op operation) error {
				if op.name == "update" {
					return errors.New("no answer came")
				}
				return nil
			})
			old := one.answer(seat, "window")
			require.Equal(t, []string{"pay"}, old.asks)
			time.Sleep(time.Minute)
			s.fail(nil)
			price = 12
			anew := other.answer(seat, "window")
			require.Equal(t, []string{"pay"}, anew.asks, "%v", anew.err)
			require.Equal(t, tripReply{plan: "paid 12"}, other.answer(anew, "yes"))
			refusedOtherwise(t, other.answer(old, "yes"))
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
		for name, again := range map[string]mrtr.Interrupted{"journal": 0, "resumable": 0, "native": mrtr.InterruptedAgain} {
			inBubble(t, name+"/"+cut, func(t *testing.T) {
				memory := store.NewMemory(nil)
				var did deeds
				fails, writes := true, atomic.Int32{}
				style := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
					ask(s, text("q"))
					if c.holds {
						once(s, "hold", did.do("held"))
					}
					once(s, "pay", did.do("paid"))
					if fails {
						fails = false
						return tripOut{}, errors.New("the catalogue is down")
					}
					return tripOut{Plan: "paid"}, nil
				})[name].OnStop(undo("pay", func() error { did.note("refunded"); return nil }))
				if c.holds {
					style = style.OnStop(undo("hold", func() error { did.note("released"); return nil }))
				}
				serve := func(i *instance) *tripTool {
					rt := newTripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(&i.events)})
					return &tripTool{rt: rt, handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Interrupted: again})}
				}
				dying := newInstance(memory, "")
				dying.on(func(op operation) error {
					if did.count("refunded") == 0 || op.name != "update" {
						return nil
					}
					if writes.Add(1) <= c.writes {
						return nil
					}
					return errors.New("cut off")
				})
				first := serve(dying)
				asked := first.begin()
				require.Error(t, first.answer(asked, "x").err)
				require.Equal(t, 1, did.count("refunded"))
				time.Sleep(time.Minute) // the lease is over

				other := newInstance(memory, "")
				last := serve(other).answer(asked, "x")
				e := ended(t, last.err, mrtr.OutcomeUnknown)
				require.Equal(t, c.undone, e.Undone, "%+v", e)
				require.Equal(t, c.unknown, e.Unknown, "%+v", e)
				require.Equal(t, c.holds, did.count("released") == 1)
				require.Equal(t, 1, did.count("paid"))
				require.Equal(t, 1, did.count("refunded"))
			})
		}
	}
}
