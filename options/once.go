package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

func Once(rt *mrtr.Runtime, card *Card) Handler {
	return mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), Report{}, nil // the client asks, and calls again from the top
		}
		_, err = mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) { // once, whatever runs again
			card.Charge(place)
			return true, nil
		})
		if err != nil {
			return nil, Report{}, err
		}
		units, ok := mrtr.Answer(c, Units)
		if !ok {
			return mrtr.Need(Units), Report{}, nil
		}
		return nil, NewReport(place, units), nil
	}), &mrtr.HandlerOptions{Needs: Always})
}
