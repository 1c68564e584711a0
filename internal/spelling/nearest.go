package spelling

import (
	"slices"
	"strings"
)

// Nearest returns at most n of the candidates that name could be a misspelling of,
// nearest first, those equally near in their given order. It suggests nothing for
// a name of more than 128 bytes.
func Nearest(name string, candidates []string, n int) []string {
	const tooLong = 128 // the cost of the distance is quadratic
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
		d := Distance(folded, other)
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

// fold removes the differences between spellings of one name: case, '-', '_', '.'.
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}
