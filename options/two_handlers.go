package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// TwoHandlers is style D: the native handler for modern clients, and another one
// for legacy clients, which asks over the session and waits. Choose it when the
// handler for legacy clients exists and works. It costs the upkeep of both.
func TwoHandlers(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, mrtr.ByVersion(mrtr.Native(guarded(audit)), mrtr.Native(waiting(audit))), &mrtr.HandlerOptions{Needs: Always})
}

func waiting(audit *Audit) mrtr.GuardedFunc[Query, Report] {
	return func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return nil, Report{}, err
		}
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
}
