package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// An instance dies in an effect, and the client plays the whole call again elsewhere. It is told
// once that nobody knows whether the effect happened. That ends the call: its user has looked into
// it, and the next equal request is meant as another call.
func TestAReplayAfterACrashInAnEffect(t *testing.T) {
	for _, style := range []string{"native", "native, again", "journal", "resumable", "steps", "coroutine"} {
		inBubble(t, style, func(t *testing.T) {
			var did deeds
			memory := store.NewMemory(nil)
			first, second := newInstance(memory, afterEffect), newInstance(memory, "")
			dying, living := first.serve(t, style, &did, nil), second.serve(t, style, &did, nil)
			own := first.stopsIn(func() tripReply { return dying.answer(dying.begin(), "window") })
			ended(t, living.answer(living.begin(), "window").err, mrtr.OutcomeUnknown)
			require.Equal(t, 1, did.count("paid"))
			require.Equal(t, tripReply{plan: "window paid"}, living.answer(living.begin(), "window"))
			require.Equal(t, 2, did.count("paid"))
			first.goOn()
			<-own
		})
	}
}
