// Package roundcost measures the cost that a store adds to a call, for the benchmarks of
// the stores. The cost of a remembered round is held against the two writes that it needs
// at least, a Create and an Update of the same bytes.
//
// Three kinds of work take turns in one process, in short blocks whose order changes:
// calls whose rounds are remembered, the same calls without a store, and the same calls
// without a store with two bare writes beside each. Whatever else the machine does weighs
// on the three alike.
package roundcost

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/mrtr-go/sdk/internal/meter"
	"github.com/mrtr-go/sdk/internal/sample"
	"github.com/mrtr-go/sdk/store"
)

// File names the variable of the environment with the file that [Measure] writes its
// rounds to, as a JSON array of [Round]. Without it they are not written.
const File = "MRTR_ROUNDCOST_FILE"

// callsOfAStore is how many calls one store serves. The records live for hours, and no
// server's memory store holds as many as a whole measurement writes.
const callsOfAStore = 10_000

// Measure reports what remembering a round costs in the stores that open returns, as a
// multiple of two bare writes, with the interval in which the median of many more rounds
// of blocks lies with 95% confidence. It is processor time for a store of one process,
// and the time by the clock for the others. Each iteration of the benchmark is a round of
// blocks; the collector runs between them, as one of its cycles takes longer than the
// whole difference. open is called again when a store has served many calls.
func Measure(b *testing.B, open func() store.Store) {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	s := begin(b, open)
	p := byClock
	if s.store.Scope() == store.Process && meter.Times().CPU > 0 {
		p = byProcessor
	}
	calls := s.callsOfABlock(b, p)
	if s.store.Scope() != store.Process && calls > 1 {
		p.blocks *= 4 // of a store so quick that its writes are not all of the cost
	}
	var rounds []Round
	for b.Loop() {
		if s.served > callsOfAStore {
			s.end(b)
			s = begin(b, open)
			s.round(b, p, calls) // warms it up
		}
		runtime.GC()
		rounds = append(rounds, s.round(b, p, calls))
	}
	s.end(b)
	report(b, p, rounds)
	if path := os.Getenv(File); path != "" {
		text, err := json.Marshal(rounds)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func report(b *testing.B, p pace, rounds []Round) {
	var remembered, writes, ratio []float64
	for _, r := range rounds {
		without := p.spent(r.Without)
		remembered = append(remembered, p.spent(r.Remembered)-without)
		writes = append(writes, p.spent(r.Beside)-without)
		ratio = append(ratio, remembered[len(remembered)-1]/writes[len(writes)-1])
	}
	low, median, high := sample.Median(ratio)
	b.ReportMetric(0, "ns/op") // of a whole round of blocks, which nobody asks for
	b.ReportMetric(median, "x-writes")
	b.ReportMetric(low, "x-low")
	b.ReportMetric(high, "x-high")
	_, median, _ = sample.Median(remembered)
	b.ReportMetric(median, "ns-remembered/op")
	_, median, _ = sample.Median(writes)
	b.ReportMetric(median, "ns-writes/op")
}
