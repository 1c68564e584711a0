//go:build !race

package ways_test

import (
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostAllocated and mostAnswered are how many bytes may be allocated, and answered, for
// each byte of an input.
const mostAllocated, mostAnswered = 100, 1.1

// excuse is why some rows may cost more than the others, and how much.
type excuse struct {
	row     string
	most    float64
	because string
}

var allocatingMore = []excuse{
	{`^modern, HTTP, .*: (deep|deepest|deep, for another .*|empty arrays|empty objects|small objects|numbers|wrong items|unknown arguments|many answers|a large answer)$`, 200,
		"go-sdk's HTTP layer decodes the arguments into any to read the name beside them; the lean front leaves it arguments that it has not seen lately, what is over 256 KiB, and calls whose headers do not name the tool"},
}

// A large input is one of megabytes. All rows would take minutes: the ways that are left
// out read a large message like one of these, and a server without a boundary reads it
// like one with it.
const usualSize, largeSize = 64 << 10, 1 << 20

var largeRows = regexp.MustCompile(`(HTTP, stock|HTTP, without sessions|modern, WebSocket|legacy, stdio), boundary true|^statecodec|^the `)

// requireWithin requires that a cost is within a bound, or that of an excuse, and notes
// which excuse was needed.
func requireWithin(t *testing.T, most, cost float64, row string, excuses []excuse, needed map[excuse]bool) {
	allowed := most
	for _, e := range excuses {
		if regexp.MustCompile(e.row).MatchString(row) {
			allowed = max(allowed, e.most)
			needed[e] = needed[e] || cost > most
		}
	}
	require.LessOrEqual(t, cost, allowed, row)
}

// allocated is how many bytes the program allocates while f runs, the least of some
// times: other goroutines allocate as well.
func allocated(times int, f func()) float64 {
	least := uint64(math.MaxUint64)
	for range times {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return float64(least)
}

// No input, however unlucky, costs a public entrance out of proportion to its size.
func TestTheWorkOfAByteIsBounded(t *testing.T) {
	type cost struct {
		row               workRow
		size              int
		allocated, answer float64 // bytes for each byte of the input
	}
	rows := workRows(t)
	var costs []cost
	for _, row := range rows {
		sizes := []int{usualSize}
		if *thorough && largeRows.MatchString(row.name) {
			sizes = append(sizes, largeSize)
		}
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s, %d KiB", row.name, size>>10), func(t *testing.T) {
				input, process := row.enter(t)
				text, answer := input(size), ""
				times := 2
				if size == largeSize { // beside which the others are nothing
					times = 1
				}
				took, bytes := allocated(times, func() { answer = process(text) }), float64(len(text))
				costs = append(costs, cost{row, size, took / bytes, float64(len(answer)) / bytes})
				if !row.misnamed {
					require.NotContains(t, answer, "header mismatch", "the row does not reach its tool")
				}
			})
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return int(b.allocated*100) - int(a.allocated*100) })
	t.Logf("%d inputs of %d rows were measured", len(costs), len(rows))
	for _, c := range costs[:20] {
		t.Logf("%7.1f bytes allocated, %.3f bytes answered for each byte: %s, %d KiB", c.allocated, c.answer, c.row.name, c.size>>10)
	}
	needed := map[excuse]bool{}
	for _, c := range costs {
		requireWithin(t, mostAllocated, c.allocated, c.row.name, allocatingMore, needed)
		require.LessOrEqual(t, c.answer, mostAnswered, c.row.name)
	}
	for _, e := range allocatingMore {
		require.True(t, needed[e], "no row needs the excuse: %s", e.because)
	}
}
