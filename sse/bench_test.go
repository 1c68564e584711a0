package sse_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse"
)

// What the bridge costs a modern request, over the same handler without it.
func BenchmarkModern(b *testing.B) {
	bare := func(context.Context, *mcp.CallToolRequest, tripIn) (*mcp.CallToolResult, tripOut, error) {
		return nil, tripOut{}, nil
	}
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: modernMeta(formCaps)}}
	for name, h := range map[string]mcp.ToolHandlerFor[tripIn, tripOut]{"bare": bare, "bridged": sse.Bridge(bare, nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = h(b.Context(), req, tripIn{})
			}
		})
	}
}

// A legacy call of two rounds through the bridge, beside a handler that asks the
// same two questions over its session by hand.
func BenchmarkLegacyTwoRounds(b *testing.B) {
	byHand := func(ctx context.Context, req *mcp.CallToolRequest, in tripIn) (*mcp.CallToolResult, tripOut, error) {
		place, err := req.Session.Elicit(ctx, form("Where to?", "place"))
		if err != nil {
			return nil, tripOut{}, err
		}
		by, err := req.Session.Elicit(ctx, form("How?", "by"))
		if err != nil {
			return nil, tripOut{}, err
		}
		return nil, tripOut{Text: in.Who + place.Content["place"].(string) + by.Content["by"].(string)}, nil
	}
	for name, h := range map[string]mcp.ToolHandlerFor[tripIn, tripOut]{"by hand": byHand, "bridged": sse.Bridge(trip, nil)} {
		b.Run(name, func(b *testing.B) {
			client, err := dial(b.Context(), tripServer(h), "2025-11-25", formCaps, traveller)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.callTool(b.Context(), "trip", map[string]any{"who": "Ada"}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
