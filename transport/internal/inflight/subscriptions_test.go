package inflight

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubscriptionsAreBounded(t *testing.T) {
	var s Subscriptions
	note := func(method, address string) error {
		if err := s.Note(method, json.RawMessage(fmt.Sprintf(`{"URI":"other","uri":%q}`, address))); err != nil {
			return err
		}
		return nil
	}
	for i := range maxSubscriptions {
		require.NoError(t, note("resources/subscribe", fmt.Sprint("a", i)))
		require.NoError(t, note("resources/subscribe", fmt.Sprint("a", i)), "twice is once")
	}
	require.Error(t, note("resources/subscribe", "one more"))
	require.NoError(t, note("resources/unsubscribe", "never subscribed"))
	require.Error(t, note("resources/subscribe", "one more"))
	require.NoError(t, note("resources/unsubscribe", "a0"))
	require.NoError(t, note("resources/subscribe", "one more"))

	s = Subscriptions{}
	require.Error(t, note("resources/subscribe", strings.Repeat("a", maxSubscribed+1)))
	require.NoError(t, note("resources/subscribe", strings.Repeat("a", maxSubscribed)))
	require.Error(t, note("resources/subscribe", "b"))
	require.NoError(t, note("resources/unsubscribe", strings.Repeat("a", maxSubscribed)))
	require.NoError(t, note("resources/subscribe", "b"))
	require.Error(t, note("subscriptions/listen", strings.Repeat("a", maxSubscribed)))
	require.NoError(t, note("tools/call", strings.Repeat("a", maxSubscribed+1)))
	for _, odd := range []string{``, `null`, `[]`, `{}`, `{"uri":5}`, `{"uri":"x","uri":null}`} {
		require.Nil(t, s.Note("resources/subscribe", json.RawMessage(odd)), odd)
	}
}
