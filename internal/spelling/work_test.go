package spelling

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The search computes the cells near the diagonal, and so the distances that matter.
func TestTheBandedDistanceIsTheDistance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		var b strings.Builder
		for range random.IntN(9) {
			b.WriteRune([]rune("abcdeé")[random.IntN(6)])
		}
		return b.String()
	}
	for range 20_000 {
		a, b, most := word(), word(), random.IntN(6)
		s := search{name: []rune(a)}
		got, want := s.within([]rune(b), most), distance([]rune(a), []rune(b))
		if want <= most {
			require.Equal(t, want, got, "%q %q within %d", a, b, most)
		} else {
			require.Greater(t, got, most, "%q %q within %d", a, b, most)
		}
		require.LessOrEqual(t, countLetters([]rune(a)).distance(countLetters([]rune(b))), want)
	}
}

// distance computes every cell.
func distance(from, to []rune) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			replace := diagonal
			if r != s {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// The work for a name that a client made up is bounded, whatever the names of a
// thousand tools, and the ordinary misspelling is still found.
func TestWorkIsBounded(t *testing.T) {
	for _, tc := range []struct {
		explanation, name string
		candidate         func(i int) string
		want              string
	}{
		{"ordinary names", "list_invoice_0500x", func(i int) string { return fmt.Sprintf("list_invoices_%04d", i) }, "list_invoices_0500"},
		{"names that are all alike, and as long as may be", strings.Repeat("ab", 64), func(i int) string {
			return strings.Repeat("ab", 50) + strings.Repeat("ba", 10) + fmt.Sprintf("%08d", i)
		}, ""},
		{"letters in another order", strings.Repeat("abcdefgh", 16), func(i int) string { return strings.Repeat("hgfedcba", 16) }, ""},
	} {
		var names []string
		for i := range 1000 {
			names = append(names, tc.candidate(i))
		}
		found, work := nearest(tc.name, names, 3)
		require.LessOrEqual(t, work, maxWork+tooLong*tooLong, tc.explanation)
		if tc.want != "" {
			require.Contains(t, found, tc.want, tc.explanation)
		}
		t.Logf("%s: %d cells", tc.explanation, work)
	}
}
