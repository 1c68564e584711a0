// Package landmine holds the two ways to write a tool that asks and have it
// audit twice. They are exhibits: everything here works in a demonstration and
// fails in use, once for each question.
package landmine

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// Naive is exhibit N: style E with the audit above the guard. What it does to
// you: the first round looks up the place, writes the audit line and asks for
// the units; the second round starts from the top, and writes it again.
// Nothing in the code looks wrong, and nothing fails.
func Naive(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(naive(audit)), nil)
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
		audit.Record(place) // above a guard: once for each round from here on
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), options.Report{}, nil
		}
		return nil, options.NewReport(place, units), nil
	}
}
