//go:build !race

package mrtr_test

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The engine adds few and small allocations to the two rounds of a call, beside those
// of a handler that asks by hand. They do not depend on the machine. The race detector
// makes pools forget at random.
func TestTwoRoundsStayWithinTheirBudget(t *testing.T) {
	const (
		mostAllocations = 12
		mostBytes       = 2400
	)
	meta := modernMeta()
	arguments := json.RawMessage(`{"location":"Lisbon"}`)
	cost := func(h benchTool) (allocations, bytes float64) {
		call := func() { twoRounds(t, h, meta, arguments) }
		allocations = testing.AllocsPerRun(1000, call)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const n = 1000
		for range n {
			call()
		}
		runtime.ReadMemStats(&after)
		return allocations, float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	bareAllocations, bareBytes := cost(bare)
	allocations, bytes := cost(engine(t, nil))
	t.Logf("the engine adds %.0f allocations and %.0f bytes", allocations-bareAllocations, bytes-bareBytes)
	require.LessOrEqual(t, allocations-bareAllocations, float64(mostAllocations))
	require.LessOrEqual(t, bytes-bareBytes, float64(mostBytes))
}
