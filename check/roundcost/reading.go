package roundcost

import (
	"runtime"
	"slices"
	"time"
)

// Quartiles are the values that a quarter, a half and three quarters of the values do not
// exceed.
func Quartiles(values []float64) (low, median, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return sorted[(n-1)/4], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-1-(n-1)/4]
}

// Reading is the cost of a process since it began. CPU is the time of all its
// threads, in user mode and in the kernel; it is 0 where the system is not a Unix.
type Reading struct {
	CPU    time.Duration
	Wall   time.Duration
	Allocs uint64
	Bytes  uint64
}

var begun = time.Now()

// Read is the reading of this process.
func Read() Reading {
	r := Times()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	r.Wall, r.Allocs, r.Bytes = time.Since(begun), memory.Mallocs, memory.TotalAlloc
	return r
}

// Times is the reading of this process without its allocations. It takes less than a
// microsecond, while those stop the process for many.
func Times() Reading { return Reading{CPU: processorTime(), Wall: time.Since(begun)} }

// Since is the cost between two readings.
func (r Reading) Since(before Reading) Reading {
	return Reading{r.CPU - before.CPU, r.Wall - before.Wall, r.Allocs - before.Allocs, r.Bytes - before.Bytes}
}
