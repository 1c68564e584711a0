//go:build !race

package linear_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// The memory of calls that wait is that of the frames which are held, however many wait. The
// race detector has memory of its own.
//
//	MRTR_OPEN_CALLS=1000000 go test ./mrtr/linear -run OpenCalls -v
func TestOpenCallsTakeBoundedMemory(t *testing.T) {
	kit.Differs(t, "records of the rounds are in the same memory")
	const (
		frameBytes = 12 << 10 // more than a frame takes, with a stack of 8 KiB; many begin with 4
		sampled    = 200
	)
	calls := 20_000
	if text := os.Getenv("MRTR_OPEN_CALLS"); text != "" {
		var err error
		calls, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	var did kit.Deeds
	rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrames: calls / 10}}) // the default, for a million
	tool := kit.NewTrip(rt, linear.Resumable(twoStops(&did)), "")
	before := memoryInUse()
	var waiting []kit.Reply // held by their clients, all but these
	for i := range calls {
		reply := tool.Begin()
		require.NoError(t, reply.Err)
		if i%(calls/sampled) == 0 {
			waiting = append(waiting, reply)
		}
	}
	kit.Soon(t, func() bool { return rt.Stats().Running == 0 }, "those that were dropped are unwound")
	held, used := rt.Stats().Held, memoryInUse()-before
	t.Logf("%d calls wait, and %d frames are held in %d bytes of heap and stack: %d bytes for each call", calls, held, used, used/calls)
	require.Equal(t, calls/10, held)
	require.Less(t, used, held*frameBytes)
	for _, reply := range waiting {
		goesOn(t, tool, reply)
	}
	require.Equal(t, calls, did.Count("start"), "each once, whether its frame was dropped or not")
	require.Equal(t, len(waiting), did.Count("middle"))
}

// memoryInUse is what the heap and the stacks hold.
func memoryInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
