package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse"
)

func SSEShim(rt *mrtr.Runtime, card *Card) Handler {
	return sse.Bridge(mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), Report{}, nil // the client asks, and calls again from the top
		}
		units, ok := mrtr.Answer(c, Units)
		if !ok {
			return mrtr.Need(Units), Report{}, nil
		}
		card.Charge(place)
		return nil, NewReport(place, units), nil
	}), &mrtr.HandlerOptions{Needs: Always, Legacy: mrtr.LegacyPassThrough}), nil)
}
