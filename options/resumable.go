package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

func Resumable(rt *mrtr.Runtime, card *Card) Handler {
	return mrtr.Tool(rt, linear.Resumable(func(ctx context.Context, c *mrtr.Call, q Query) (Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return Report{}, err
		}
		place, err := linear.Ask(ctx, c, which) // goes on below with the answer
		if err != nil {
			return Report{}, err
		}
		_, err = mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) { // once, whatever runs again
			card.Charge(place)
			return true, nil
		})
		if err != nil {
			return Report{}, err
		}
		units, err := linear.Ask(ctx, c, Units)
		if err != nil {
			return Report{}, err
		}
		return NewReport(place, units), nil
	}), &mrtr.HandlerOptions{Needs: Always})
}
