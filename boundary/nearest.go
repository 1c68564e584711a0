package boundary

import (
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// nearest are at most n of the candidates that could be a misspelling of name,
// nearest first, then in the candidates' own order.
func nearest(name string, candidates []string, n int) []string {
	const tooLong = 128 // nobody misspells that, and the distance is quadratic
	if len(name) > tooLong {
		return nil
	}
	type scored struct {
		name     string
		distance int
	}
	var found []scored
	folded := fold(name)
	for _, candidate := range candidates {
		if len(candidate) > tooLong {
			continue
		}
		other := fold(candidate)
		d := spelling.Distance(folded, other)
		longer := max(len(folded), len(other))
		near := d <= 1+longer/4 && 2*d < longer
		part := len(folded) >= 3 && strings.Contains(other, folded) || len(other) >= 3 && strings.Contains(folded, other)
		if near || part {
			found = append(found, scored{candidate, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.distance - b.distance })
	var names []string
	for _, s := range found[:min(n, len(found))] {
		names = append(names, s.name)
	}
	return names
}

// fold drops what spellings of one name differ in: case, '-', '_' and '.'.
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}
