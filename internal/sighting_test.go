package internal_test

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

// However many records are watched, the memory for it is bounded: most are forgotten, and
// counted anew.
func TestSightingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sighting.Log[int, uint64]
		began := time.Now()
		for i := range 3 * sighting.Max {
			l.Note(i, 1)
		}
		time.Sleep(time.Second)
		known := 0
		for i := range 3 * sighting.Max {
			if l.Note(i, 1).Equal(began) {
				known++
			}
		}
		require.LessOrEqual(t, known, sighting.Max)
		require.NotZero(t, known)
	})
}
