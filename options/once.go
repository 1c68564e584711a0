package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// Once is style F: style E with the effect in mrtr.Once. Choose it when an effect
// must happen before the last question. It costs a few bytes of state for each
// effect, and the discipline to wrap every one: a bare effect above a guard
// happens again in each round.
func Once(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, mrtr.Native(remembering(audit)), &mrtr.HandlerOptions{Needs: Always})
}

func remembering(audit *Audit) mrtr.GuardedFunc[Query, Report] {
	return func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), Report{}, nil
		}
		_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {
			audit.Record(place)
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
	}
}
