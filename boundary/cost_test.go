package boundary_test

import (
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkRatio is the cost of a call with a boundary divided by that of a call
// without one. It runs both in turn, in batches, and reports the median of the ratios,
// so that other work of the machine affects both alike.
func BenchmarkRatio(b *testing.B) {
	const batch = 100
	for _, over := range []string{"memory", "http"} {
		for _, tool := range []string{"text", "structured"} {
			b.Run(over+"/"+tool, func(b *testing.B) {
				bare := benchClient(b, over, benchServer(b, false))
				bounded := benchClient(b, over, benchServer(b, true))
				spend := func(session *mcp.ClientSession) time.Duration {
					begun := time.Now()
					for range batch {
						params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"place": "Lisbon", "days": 3}}
						if res, err := session.CallTool(b.Context(), params); err != nil || res.IsError {
							b.Fatal(res, err)
						}
					}
					return time.Since(begun)
				}
				spend(bare)
				spend(bounded)
				var ratios []float64
				for b.Loop() {
					without, with := spend(bare), spend(bounded)
					ratios = append(ratios, float64(with)/float64(without))
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], "with/without")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
