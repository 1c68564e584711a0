//go:build !race

package mrtr_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// The engine adds few and small allocations to the two rounds of a call, beside those
// of a handler that asks by hand. They do not depend on the machine. The race detector
// makes pools forget at random.
func TestTwoRoundsStayWithinTheirBudget(t *testing.T) {
	const (
		mostAllocations = 12
		mostBytes       = 3800
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

// What a round allocates grows with its answers by a few bytes for each of theirs, however
// many there are.
func TestAllocationGrowsEvenlyWithAnswers(t *testing.T) {
	const mostPerByte = 13
	rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 1 << 20}})
	tool := newTrip(rt, mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
		return tripOut{Plan: ask(s, text("first"))[:1] + ask(s, text("second"))}, nil
	})), "")
	allocated := func(length int) float64 {
		first, long := tool.begin(), strings.Repeat("x", length)
		var before, after runtime.MemStats
		const n = 20
		runtime.ReadMemStats(&before)
		for range n {
			last := tool.answer(tool.answer(first, long), "y")
			require.Equal(t, "xy", last.plan, last.err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	short, long, longer := allocated(1), allocated(25_000), allocated(100_000)
	t.Logf("%.1f and %.1f bytes for each byte of an answer", (long-short)/25_000, (longer-short)/100_000)
	require.Less(t, (long-short)/25_000, float64(mostPerByte))
	require.Less(t, (longer-short)/100_000, float64(mostPerByte))
}
