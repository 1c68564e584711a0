package sighting_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/sighting"
)

func TestSilenceIsCountedFromTheLastNewRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sighting.Log[string, uint64]
		began := l.Note("a", 7)
		time.Sleep(time.Second)
		require.Equal(t, began, l.Note("a", 7))
		require.Equal(t, began, l.Note("a", 6), "a read that lags")
		require.Equal(t, began.Add(time.Second), l.Note("a", 8))
		require.Equal(t, began.Add(time.Second), l.Note("b", 1))
	})
}

// However many records are watched, the memory for it is bounded.
func TestSightingsAreBounded(t *testing.T) {
	var l sighting.Log[int, uint64]
	for i := range 3 * sighting.Max {
		l.Note(i, 1)
	}
	require.Equal(t, sighting.Max, l.Len())
}
