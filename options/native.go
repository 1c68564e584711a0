package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// Native is style E: guards, and the incomplete result in plain sight. Choose
// it when the tool asks little and you want to see every round in the code. It
// costs discipline: whatever stands above a guard runs again in each round, so
// the audit stands below the last one. It holds nothing on the server.
//
// Here it is shown with the policy of defaults for clients from before: they
// are not asked, and what has no default is refused.
func Native(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, mrtr.Native(guarded(audit)), &mrtr.HandlerOptions{Legacy: mrtr.LegacyDefaults})
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
