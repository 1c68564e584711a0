package roundcost

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// Series is one quantity of one subject: one value a round, by sitting. Subjects are
// started anew for each sitting, so that the chance circumstances of a process (its
// addresses, the place of its heap) vary between sittings only.
type Series [][]float64

// Flat is every round of every sitting.
func (s Series) Flat() []float64 { return slices.Concat(s...) }

// Each combines two series round by round. Compared series are measured in the
// same rounds, so both have the same shape.
func (s Series) Each(other Series, combine func(a, b float64) float64) Series {
	out := make(Series, len(s))
	for i := range s {
		for j := range s[i] {
			out[i] = append(out[i], combine(s[i][j], other[i][j]))
		}
	}
	return out
}

// Estimate is a value and the interval around it.
type Estimate struct{ Low, Value, High float64 }

// Estimate is the median of all rounds. The interval holds the 95% confidence
// interval of that median and the median of every sitting.
func (s Series) Estimate() Estimate {
	low, value, high := Median(s.Flat())
	e := Estimate{low, value, high}
	for _, sitting := range s {
		_, m, _ := Median(sitting)
		e = e.Including(m)
	}
	return e
}

// Including widens the interval until v lies in it.
func (e Estimate) Including(v float64) Estimate {
	return Estimate{min(e.Low, v), e.Value, max(e.High, v)}
}

// Widened widens the interval on both sides by a part of the value.
func (e Estimate) Widened(part float64) Estimate {
	margin := part * math.Abs(e.Value)
	return Estimate{e.Low - margin, e.Value, e.High + margin}
}

// Median is the median, and between which two of the values the true one lies
// with 95% confidence, whatever the distribution. With fewer than six values
// these are the least and the greatest.
func Median(values []float64) (low, median, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	median = (sorted[(n-1)/2] + sorted[n/2]) / 2
	// The true median lies outside sorted[k:n-k] when at most k of n tosses of a
	// coin come down heads, or tails.
	k, tail, chance := 0, 0.0, math.Exp2(-float64(n))
	for i := range n / 2 {
		if tail += chance; 2*tail > 0.05 {
			break
		}
		k = i
		chance *= float64(n-i) / float64(i+1)
	}
	return sorted[k], median, sorted[n-1-k]
}

// LowerQuartile is the value that a quarter of the values do not exceed. Other
// work on the machine only ever adds to a measurement, so the lower quartile
// varies less from run to run than the median.
func LowerQuartile(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/4]
}

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
