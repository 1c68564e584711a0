package roundcost

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/internal/meter"
	"github.com/mrtr-go/sdk/internal/sample"
)

// Round is the finding of one round of blocks, for each kind of work.
type Round struct {
	Remembered Cost `json:"remembered"`
	Without    Cost `json:"without"`
	Beside     Cost `json:"beside"`
}

// Cost is the cost of one call. The times, in nanoseconds, are those of the median of
// the blocks, so that a block in which the process was interrupted counts for one.
type Cost struct {
	CPU    float64 `json:"cpu"`
	Wall   float64 `json:"wall"`
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
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
	do := func(i int, read func() meter.Reading) meter.Reading {
		before := read()
		if err := work[i].do(calls); err != nil {
			b.Fatal(err)
		}
		return read().Since(before)
	}
	for range p.blocks {
		s.name(calls)
		for _, i := range rand.Perm(len(work)) {
			spent := do(i, meter.Times)
			work[i].cpu = append(work[i].cpu, float64(spent.CPU)/float64(calls))
			work[i].wall = append(work[i].wall, float64(spent.Wall)/float64(calls))
		}
	}
	s.name(calls)
	for i := range work {
		counted := do(i, meter.Read) // apart, since counting stops the process
		_, cpu, _ := sample.Median(work[i].cpu)
		_, wall, _ := sample.Median(work[i].wall)
		*work[i].cost = Cost{cpu, wall, float64(counted.Allocs) / float64(calls), float64(counted.Bytes) / float64(calls)}
	}
	s.served += calls * (p.blocks + 1)
	return r
}
