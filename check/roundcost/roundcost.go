// Package roundcost measures the cost that a store adds to a call, for the benchmarks of
// the stores. The cost of a remembered round is held against the two writes that it needs
// at least, a Create and an Update of the same bytes.
//
// Three kinds of work take turns in one process, in short blocks whose order changes:
// calls whose rounds are remembered, the same calls without a store, and the same calls
// without a store with two bare writes beside each. Whatever else the machine does weighs
// on the three alike.
package roundcost

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// callsOfAStore is how many calls one store serves. The records live for hours, and no
// server's memory store holds as many as a whole measurement writes.
const callsOfAStore = 10_000

// Measure reports what remembering a round costs in the stores that open returns: beside a
// bare Create and Update, in processor time and by the clock, and in all. Each
// iteration of the benchmark is a round of blocks; the collector runs between them, as
// one of its cycles takes longer than the whole difference. open is called again when a
// store has served many calls.
func Measure(b *testing.B, open func() store.Store) {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	s := begin(b, open)
	p := byClock
	if s.store.Scope() == store.Process && Times().CPU > 0 {
		p = byProcessor
	}
	calls := s.callsOfABlock(b, p)
	if s.store.Scope() != store.Process && calls > 1 {
		p.blocks *= 4 // of a store so quick that its writes are not all of the cost
	}
	var rounds []Round
	for b.Loop() {
		if s.served > callsOfAStore {
			s.end(b)
			s = begin(b, open)
			s.round(b, p, calls) // warms it up
		}
		runtime.GC()
		rounds = append(rounds, s.round(b, p, calls))
	}
	s.end(b)
	report(b, rounds, "CPU", func(c Cost) float64 { return c.CPU })
	report(b, rounds, "time", func(c Cost) float64 { return c.Wall })
}

// report reports the medians of one quantity.
func report(b *testing.B, rounds []Round, quantity string, of func(Cost) float64) {
	var ratios, added []float64
	for _, r := range rounds {
		more := of(r.Remembered) - of(r.Without)
		ratios, added = append(ratios, more/(of(r.Beside)-of(r.Without))), append(added, more)
	}
	_, ratio, _ := Quartiles(ratios)
	_, more, _ := Quartiles(added)
	b.ReportMetric(ratio, quantity+"/bare")
	b.ReportMetric(more, quantity+"-ns/round")
}

// Round is the finding of one round of blocks, for each kind of work.
type Round struct {
	Remembered Cost
	Without    Cost
	Beside     Cost
}

// Cost is the cost of one call. The times, in nanoseconds, are those of the median of
// the blocks, so that a block in which the process was interrupted counts for one.
type Cost struct {
	CPU    float64
	Wall   float64
	Allocs float64
	Bytes  float64
}

// pace is how long the blocks are, and how many of each kind a round has.
type pace struct {
	block  time.Duration
	blocks int
	spent  func(Cost) float64
}

var (
	// byProcessor is for differences of microseconds. Within such short blocks the
	// speed of the processor changes little.
	byProcessor = pace{300 * time.Microsecond, 64, func(c Cost) float64 { return c.CPU }}
	// byClock is for stores that take longer than the rest of a call.
	byClock = pace{time.Millisecond, 24, func(c Cost) float64 { return c.Wall }}
)

// callsOfABlock finds how many calls fit into a block, and warms everything up meanwhile.
func (s *setting) callsOfABlock(b testing.TB, p pace) int {
	for n := 1; ; n *= 2 {
		each := p.spent(s.round(b, p, n).Remembered)
		if each*float64(n) >= float64(p.block)/2 {
			return max(1, int(float64(p.block)/each))
		}
	}
}

// round gives each kind of work its turns.
func (s *setting) round(b testing.TB, p pace, calls int) (r Round) {
	work := []struct {
		cost *Cost
		do   func(n int) error
		cpu  []float64
		wall []float64
	}{{cost: &r.Remembered, do: s.remembered}, {cost: &r.Without, do: s.without}, {cost: &r.Beside, do: s.beside}}
	do := func(i int, read func() Reading) Reading {
		before := read()
		if err := work[i].do(calls); err != nil {
			b.Fatal(err)
		}
		return read().Since(before)
	}
	for range p.blocks {
		s.name(calls)
		for _, i := range rand.Perm(len(work)) {
			spent := do(i, Times)
			work[i].cpu = append(work[i].cpu, float64(spent.CPU)/float64(calls))
			work[i].wall = append(work[i].wall, float64(spent.Wall)/float64(calls))
		}
	}
	s.name(calls)
	for i := range work {
		counted := do(i, Read) // apart, since counting stops the process
		_, cpu, _ := Quartiles(work[i].cpu)
		_, wall, _ := Quartiles(work[i].wall)
		*work[i].cost = Cost{cpu, wall, float64(counted.Allocs) / float64(calls), float64(counted.Bytes) / float64(calls)}
	}
	s.served += calls * (p.blocks + 1)
	return r
}
