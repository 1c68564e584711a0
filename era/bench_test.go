package era_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// BenchmarkClientOf compares with go-sdk's accessor for the capabilities alone.
func BenchmarkClientOf(b *testing.B) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: modernMeta(map[string]any{"elicitation": map[string]any{}})}}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = era.ClientOf(req)
		}
	})
	b.Run("go-sdk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = req.ClientCapabilities()
		}
	})
}
