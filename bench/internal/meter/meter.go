// Package meter reads the cost of a process so far.
package meter

import (
	"runtime"
	"syscall"
	"time"
)

// Reading is the cost of a process since it began. CPU is the time of all its
// threads, in user mode and in the kernel.
type Reading struct {
	CPU    time.Duration `json:"cpu"`
	Wall   time.Duration `json:"wall"`
	Allocs uint64        `json:"allocs"`
	Bytes  uint64        `json:"bytes"`
}

var begun = time.Now()

// Read is the reading of this process.
func Read() Reading {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // only a wrong argument can make it fail
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return Reading{
		CPU:    time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		Wall:   time.Since(begun),
		Allocs: memory.Mallocs,
		Bytes:  memory.TotalAlloc,
	}
}

// Since is the cost between two readings.
func (r Reading) Since(before Reading) Reading {
	return Reading{r.CPU - before.CPU, r.Wall - before.Wall, r.Allocs - before.Allocs, r.Bytes - before.Bytes}
}
