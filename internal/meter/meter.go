// Package meter reads the cost of a process so far.
package meter

import (
	"runtime"
	"time"
)

// Reading is the cost of a process since it began. CPU is the time of all its
// threads, in user mode and in the kernel; it is 0 where the system is not a Unix.
type Reading struct {
	CPU    time.Duration `json:"cpu"`
	Wall   time.Duration `json:"wall"`
	Allocs uint64        `json:"allocs"`
	Bytes  uint64        `json:"bytes"`
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
