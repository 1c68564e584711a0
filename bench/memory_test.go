package main

import (
	"context"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// BenchmarkMemory is the two-round call in memory: with all processors, and with
// one, where scheduling adds less noise and small differences show.
func BenchmarkMemory(b *testing.B) {
	b.Run("all", callsInMemory)
	b.Run("one", func(b *testing.B) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		callsInMemory(b)
	})
}

func callsInMemory(b *testing.B) {
	var entrants []entrant
	for _, h := range handlers(b) {
		there, here := mcp.NewInMemoryTransports()
		_, err := serve(h.handler).Connect(context.Background(), there, nil)
		require.NoError(b, err)
		entrants = append(entrants, entrant{h.name, []func(){dial(b, here)}})
	}
	takeTurns(b, 16, entrants)
}
