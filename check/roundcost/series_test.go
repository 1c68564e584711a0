package roundcost

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		explanation       string
		values            []float64
		low, median, high float64
	}{
		{"one value is all there is", []float64{3}, 3, 3, 3},
		{"five values are too few: least and greatest", []float64{5, 1, 4, 2, 3}, 1, 3, 5},
		{"eight values: the chance that the median is outside least and greatest is 1 in 128, of the next pair 1 in 14", []float64{8, 7, 6, 5, 4, 3, 2, 1}, 1, 4.5, 8},
		{"nine values: outside the second and the last but one it is 1 in 25.6", []float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, 2, 5, 8},
		{"one wild value does not move it", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1000}, 1, 1, 1},
	} {
		low, median, high := Median(c.values)
		require.Equal(t, []float64{c.low, c.median, c.high}, []float64{low, median, high}, c.explanation)
	}
}

// Rounds agree closely within a sitting and sittings differ: the interval must
// hold all sittings, or the next run's sittings would give another verdict.
func TestEstimateHoldsEverySitting(t *testing.T) {
	calm := []float64{1, 1, 1, 1, 1, 1, 1, 1}
	off := []float64{1.2, 1.2, 1.2}
	e := Series{calm, calm, off}.Estimate()
	require.Equal(t, Estimate{1, 1, 1.2}, e)
	require.Equal(t, Estimate{0.5, 1, 1.2}, e.Including(0.5))
	require.InDeltaSlice(t, []float64{0.9, 1, 1.3}, []float64{e.Widened(0.1).Low, e.Widened(0.1).Value, e.Widened(0.1).High}, 1e-9)
}

func TestEachIsRoundByRound(t *testing.T) {
	ours, theirs := Series{{2, 4}, {9}}, Series{{1, 4}, {3}}
	require.Equal(t, Series{{2, 1}, {3}}, ours.Each(theirs, func(a, b float64) float64 { return a / b }))
	require.Equal(t, []float64{2, 4, 9}, ours.Flat())
}

func TestLowerQuartile(t *testing.T) {
	require.Equal(t, 1.0, LowerQuartile([]float64{1}))
	require.Equal(t, 2.0, LowerQuartile([]float64{8, 7, 6, 5, 4, 3, 2, 1}))
}
