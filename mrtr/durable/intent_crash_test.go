package durable_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

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
