package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
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
