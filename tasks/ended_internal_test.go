package tasks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A caller with large results does not push out the small ones of others that nobody knows either.
// The last result is there to be read, however large it is.
func TestTheLargestResultsGiveWay(t *testing.T) {
	var e ended
	end := func(call string, size int) (gone []string) {
		tasks, _ := e.add("", endedTask{call: call, bytes: size, expires: time.Now().Add(time.Hour)})
		for _, one := range tasks {
			gone = append(gone, one.call)
		}
		return gone
	}
	for range 1000 {
		require.Empty(t, end("small", 4<<10))
	}
	large := 0
	for range 50 {
		for _, call := range end("large", 1<<20) {
			require.Equal(t, "large", call)
			large++
		}
	}
	require.Greater(t, large, 30)
	require.NotContains(t, end("larger", 2<<20), "larger")
}
