package page

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

func TestBenchesAreBounded(t *testing.T) {
	s := serve(t, nil)
	inUse := s.bench()
	client := s.dial(inUse, "/a/ws")
	for range maxBenches + 3 {
		s.bench()
	}
	require.Len(t, s.h.benches.byID, maxBenches)
	_, err := client.Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err, "who is there keeps the bench")
}

// One visitor does not fill the memory with the handlers that wait for answers.
func TestWhatAVisitorHoldsIsBounded(t *testing.T) {
	s := serve(t, nil)
	bench := s.bench()
	held := func(count int, location string) (refused bool) {
		client := s.dial(bench, "/a/ws?user="+rand.Text())
		for range count {
			reply, err := client.Send(t.Context(), wire.Request{Name: "weather_coroutine", Arguments: map[string]any{"location": location}})
			require.NoError(t, err)
			refused = reply.IsError
		}
		return refused
	}
	require.False(t, held(maxHeld/2, "Lisbon"))
	require.True(t, held(maxHeld, "Lisbon"), "whatever users they name")
	bench = s.bench()
	require.True(t, held(40, "Lisbon"+strings.Repeat(" ", maxMessage/2)), "they are bounded in bytes too")
	_, err := s.dial(bench, "/a/ws").Send(t.Context(), wire.Request{Name: "weather_native", Arguments: map[string]any{"location": strings.Repeat(" ", maxMessage)}})
	require.Error(t, err)
}
