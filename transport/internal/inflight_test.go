package internal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

func TestCounter(t *testing.T) {
	c := inflight.New(5, 3)
	require.NoError(t, c.Enter(inflight.Who{Principal: "a"}, 3))
	require.Equal(t, inflight.ErrShare, c.Enter(inflight.Who{Principal: "a"}, 1))
	require.Equal(t, inflight.ErrFull, c.Enter(inflight.Who{Principal: "b"}, 3), "all or none")
	require.NoError(t, c.Enter(inflight.Who{Principal: "b"}, 1))
	require.NoError(t, c.Enter(inflight.Who{}, 1))
	require.Equal(t, inflight.ErrFull, c.Enter(inflight.Who{}, 1))
	c.Leave(inflight.Who{Principal: "a"}, 2)
	require.NoError(t, c.Enter(inflight.Who{Principal: "a"}, 2))
	c.Leave(inflight.Who{Principal: "a"}, 3)
	c.Leave(inflight.Who{Principal: "b"}, 1)
	c.Leave(inflight.Who{}, 1)
	require.Equal(t, inflight.New(5, 3), c, "a principal that has nothing in flight is forgotten")
}

// A quarter of the places is neither for the callers whom nobody knows, however many
// connections they open, nor for any one principal.
func TestAQuarterIsForTheOthers(t *testing.T) {
	for name, taking := range map[string]func(i int) inflight.Who{
		"a crowd":     func(i int) inflight.Who { return inflight.Who{Connection: string(rune('a' + i))} },
		"nobody":      func(int) inflight.Who { return inflight.Who{} },
		"a principal": func(int) inflight.Who { return inflight.Who{Principal: "a"} },
	} {
		c, taken := inflight.New(20, 1000), 0
		for i := range 20 {
			if c.Enter(taking(i), 1) == nil {
				taken++
			}
		}
		require.Equal(t, 15, taken, name)
		for range 5 {
			require.NoError(t, c.Enter(inflight.Who{Principal: "b"}, 1), name)
		}
		require.Equal(t, inflight.ErrFull, c.Enter(inflight.Who{Principal: "c"}, 1), name)
		c.Leave(inflight.Who{Principal: "b"}, 5)
		for i := range taken {
			c.Leave(taking(i), 1)
		}
		require.Equal(t, inflight.New(20, 1000), c, name)
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	var s inflight.Subscriptions
	note := func(method, address string) error {
		if err := s.Note(method, json.RawMessage(fmt.Sprintf(`{"URI":"other","uri":%q}`, address))); err != nil {
			return err
		}
		return nil
	}
	for i := range 1000 {
		require.NoError(t, note("resources/subscribe", fmt.Sprint("a", i)))
		require.NoError(t, note("resources/subscribe", fmt.Sprint("a", i)), "twice is once")
	}
	require.Error(t, note("resources/subscribe", "one more"))
	require.NoError(t, note("resources/unsubscribe", "never subscribed"))
	require.Error(t, note("resources/subscribe", "one more"))
	require.NoError(t, note("resources/unsubscribe", "a0"))
	require.NoError(t, note("resources/subscribe", "one more"))

	s = inflight.Subscriptions{}
	require.Error(t, note("resources/subscribe", strings.Repeat("a", 65536+1)))
	require.NoError(t, note("resources/subscribe", strings.Repeat("a", 65536)))
	require.Error(t, note("resources/subscribe", "b"))
	require.NoError(t, note("resources/unsubscribe", strings.Repeat("a", 65536)))
	require.NoError(t, note("resources/subscribe", "b"))
	require.Error(t, note("subscriptions/listen", strings.Repeat("a", 65536)))
	require.NoError(t, note("tools/call", strings.Repeat("a", 65536+1)))
	for _, odd := range []string{``, `null`, `[]`, `{}`, `{"uri":5}`, `{"uri":"x","uri":null}`} {
		require.Nil(t, s.Note("resources/subscribe", json.RawMessage(odd)), odd)
	}
}
