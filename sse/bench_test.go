package sse_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

// BenchmarkModern compares a modern request with the same handler without the
// bridge.
func BenchmarkModern(b *testing.B) {
	bare := func(context.Context, *mcp.CallToolRequest, trip.In) (*mcp.CallToolResult, trip.Out, error) {
		return nil, trip.Out{}, nil
	}
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: modernMeta}}
	for name, h := range map[string]mcp.ToolHandlerFor[trip.In, trip.Out]{"bare": bare, "bridged": sse.Bridge(bare, nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = h(b.Context(), req, trip.In{})
			}
		})
	}
}

// BenchmarkLegacyTwoRounds compares a legacy call of two rounds through the
// bridge with a handler that asks the same two questions over its session by hand.
func BenchmarkLegacyTwoRounds(b *testing.B) {
	byHand := func(ctx context.Context, req *mcp.CallToolRequest, in trip.In) (*mcp.CallToolResult, trip.Out, error) {
		place, err := req.Session.Elicit(ctx, trip.Form("Where to?", "place"))
		if err != nil {
			return nil, trip.Out{}, err
		}
		by, err := req.Session.Elicit(ctx, trip.Form("How?", "by"))
		if err != nil {
			return nil, trip.Out{}, err
		}
		return nil, trip.Out{Text: in.Who + place.Content["place"].(string) + by.Content["by"].(string)}, nil
	}
	for name, h := range map[string]mcp.ToolHandlerFor[trip.In, trip.Out]{"by hand": byHand, "bridged": sse.Bridge(trip.Handler, nil)} {
		b.Run(name, func(b *testing.B) {
			client := connect(b, trip.NewServer(h), &wire.Options{Version: wire.Legacy, Answers: trip.Answers})
			request := wire.Request{Name: "trip", Arguments: map[string]any{"who": "Ada"}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Exchange(b.Context(), request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
