package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

func VersionBranch(rt *mrtr.Runtime, card *Card) Handler {
	return mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
		if !c.Modern() {
			place, err := which.AskOver(ctx, c.Session()) // waits: a legacy client has one request
			if err != nil {
				return nil, Report{}, err
			}
			units, err := Units.AskOver(ctx, c.Session())
			if err != nil {
				return nil, Report{}, err
			}
			card.Charge(place)
			return nil, NewReport(place, units), nil
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
	}), &mrtr.HandlerOptions{Needs: Always})
}
