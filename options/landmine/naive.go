package landmine

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// Naive is style N: guards, and the charge above one of them, bare. Every round charges.
func Naive(rt *mrtr.Runtime, card *Card) Handler {
	return mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), Report{}, nil
		}
		card.Charge(place)
		units, ok := mrtr.Answer(c, Units)
		if !ok {
			return mrtr.Need(Units), Report{}, nil
		}
		return nil, NewReport(place, units), nil
	}), &mrtr.HandlerOptions{Needs: Always})
}
