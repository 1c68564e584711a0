package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		explanation       string
		sample            sample
		low, median, high float64
	}{
		{"one value is all there is", sample{3}, 3, 3, 3},
		{"five values are too few: least and greatest", sample{5, 1, 4, 2, 3}, 1, 3, 5},
		{"eight values: the chance that the median is outside least and greatest is 1 in 128, of the next pair 1 in 14", sample{8, 7, 6, 5, 4, 3, 2, 1}, 1, 4.5, 8},
		{"nine values: outside the second and the last but one it is 1 in 25.6", sample{9, 8, 7, 6, 5, 4, 3, 2, 1}, 2, 5, 8},
		{"one wild value does not move it", sample{1, 1, 1, 1, 1, 1, 1, 1, 1000}, 1, 1, 1},
	} {
		low, median, high := c.sample.spread()
		require.Equal(t, []float64{c.low, c.median, c.high}, []float64{low, median, high}, c.explanation)
	}
}

func TestComparedRoundByRound(t *testing.T) {
	ours, theirs := sample{2, 4, 9}, sample{1, 4, 3}
	require.Equal(t, sample{2, 1, 3}, ours.over(theirs))
	require.Equal(t, sample{1, 0, 6}, ours.minus(theirs))
}
