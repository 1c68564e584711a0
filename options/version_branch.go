package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// VersionBranch is style C: one handler that looks at the client's revision and
// asks legacy clients over their session. Choose it when the two eras share most
// of a handler. It costs a second path through the code, which only legacy
// clients exercise.
func VersionBranch(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, mrtr.Native(branching(audit)), &mrtr.HandlerOptions{Needs: Always})
}

func branching(audit *Audit) mrtr.GuardedFunc[Query, Report] {
	return func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
		if !c.Modern() {
			place, err := which.AskOver(ctx, c.Session())
			if err != nil {
				return nil, Report{}, err
			}
			units, err := Units.AskOver(ctx, c.Session())
			if err != nil {
				return nil, Report{}, err
			}
			audit.Record(place)
			return nil, NewReport(place, units), nil
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
