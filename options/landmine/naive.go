// Package landmine holds two ways to write a tool that asks and audits twice.
// Both look right and return the right result; only the audit shows the bug.
package landmine

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// Naive is landmine N: style E with the audit above a guard. The first round looks
// up the place, writes the audit line and asks for the units. The second round
// starts from the top and writes the line again. No error is reported.
func Naive(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(naive(audit)), &mrtr.HandlerOptions{Needs: options.Always})
}

func naive(audit *options.Audit) mrtr.GuardedFunc[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return nil, options.Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), options.Report{}, nil
		}
		audit.Record(place) // above a guard: again in each later round
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), options.Report{}, nil
		}
		return nil, options.NewReport(place, units), nil
	}
}
