package roundcost

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuartiles(t *testing.T) {
	for _, c := range []struct {
		explanation       string
		values            []float64
		low, median, high float64
	}{
		{"one value is all there is", []float64{3}, 3, 3, 3},
		{"eight values", []float64{8, 7, 6, 5, 4, 3, 2, 1}, 2, 4.5, 7},
		{"one wild value moves none", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1000}, 1, 1, 1},
	} {
		low, median, high := Quartiles(c.values)
		require.Equal(t, []float64{c.low, c.median, c.high}, []float64{low, median, high}, c.explanation)
	}
}
