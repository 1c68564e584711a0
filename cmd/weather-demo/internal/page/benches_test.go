package page

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBenchesAreBounded(t *testing.T) {
	s := serve(t)
	inUse, idle := s.bench(), s.bench()
	client := s.dial(inUse, "/a/ws")
	for range maxBenches {
		s.bench()
	}
	require.Len(t, s.h.benches.open, maxBenches)
	_, err := client.Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err, "who is there keeps the bench")
	status, _, _ := s.do("GET", idle+"/events?after=0", "")
	require.Equal(t, http.StatusNotFound, status, "the oldest that nobody uses made room")
}
