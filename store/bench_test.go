package store_test

import (
	"testing"

	"github.com/mrtr-go/sdk/check/roundcost"
	"github.com/mrtr-go/sdk/store"
)

// BenchmarkRound is the cost of a remembered round, in bare writes.
func BenchmarkRound(b *testing.B) {
	roundcost.Measure(b, func() store.Store { return store.NewMemory(nil) })
}
