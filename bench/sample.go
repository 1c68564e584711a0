package main

import (
	"math"
	"slices"
)

// sample is one number from every round.
type sample []float64

// spread is the median of a sample and its 95% confidence interval, for any
// distribution. Fewer than six values have no such interval: then it is the least
// and the greatest value.
func (s sample) spread() (low, median, high float64) {
	sorted := slices.Sorted(slices.Values(s))
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

// over divides round by round.
func (s sample) over(other sample) sample {
	ratios := make(sample, len(s))
	for i := range s {
		ratios[i] = s[i] / other[i]
	}
	return ratios
}

// minus subtracts round by round.
func (s sample) minus(other sample) sample {
	differences := make(sample, len(s))
	for i := range s {
		differences[i] = s[i] - other[i]
	}
	return differences
}
