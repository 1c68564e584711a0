package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// entrant is one way to make the call, with its clients already connected:
// each function makes the whole call through one of them.
type entrant struct {
	name    string
	clients []func()
}

// takeTurns measures the entrants in one process, a few calls of each in turn, so
// that other load on the machine, which exceeds their differences, affects all of
// them. It prints, for each, the time of a call in the median turn and the
// allocations of a call on both sides.
func takeTurns(b *testing.B, calls int, entrants []entrant) {
	times, allocs, sizes := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for _, e := range entrants {
		e.turn(len(e.clients)) // opens connections, fills caches
	}
	for b.Loop() {
		entrants = append(entrants[1:], entrants[0]) // so that each is first in turn
		for _, e := range entrants {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := time.Now()
			e.turn(calls)
			spent := time.Since(begun)
			runtime.ReadMemStats(&after)
			times[e.name] = append(times[e.name], float64(spent.Nanoseconds()))
			allocs[e.name] = append(allocs[e.name], float64(after.Mallocs-before.Mallocs))
			sizes[e.name] = append(sizes[e.name], float64(after.TotalAlloc-before.TotalAlloc))
		}
	}
	for _, e := range entrants {
		b.ReportMetric(median(times[e.name])/float64(calls), e.name+"-ns/op")
		b.ReportMetric(median(allocs[e.name])/float64(calls), e.name+"-allocs/op")
		b.ReportMetric(median(sizes[e.name])/float64(calls), e.name+"-B/op")
	}
	b.ReportMetric(0, "ns/op") // the time of all entrants together means nothing
}

// turn makes this many calls: the clients work at once, each makes its calls one
// after another.
func (e *entrant) turn(calls int) {
	if len(e.clients) == 1 {
		for range calls {
			e.clients[0]()
		}
		return
	}
	var begun atomic.Int64
	var done sync.WaitGroup
	for _, call := range e.clients {
		done.Go(func() {
			for begun.Add(1) <= int64(calls) {
				call()
			}
		})
	}
	done.Wait()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
