package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// Native is style E: guards that return an incomplete result. Choose it when the
// tool asks one or two questions and every round should be visible in the code.
// It costs discipline: code above a guard runs again in each round, so the audit
// stands below the last guard. The server holds nothing.
func Native(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, mrtr.Native(guarded(audit)), &mrtr.HandlerOptions{Needs: Always})
}

func guarded(audit *Audit) mrtr.GuardedFunc[Query, Report] {
	return func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), Report{}, nil
		}
		units, ok := mrtr.Answer(c, Units)
		if !ok {
			return mrtr.Need(Units), Report{}, nil
		}
		audit.Record(place)
		return nil, NewReport(place, units), nil
	}
}
