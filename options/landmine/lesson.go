package landmine

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/options"
)

// An Engine runs one linear function in its own way. Bare is the function with a
// bare audit between its two questions, InOnce the same function with Once around
// the audit.
type Engine struct {
	Name         string
	Explanation  string
	Bare, InOnce func(rt *mrtr.Runtime, audit *options.Audit) options.Handler
}

// Engines are three ways to run the same function. A bare audit happens once only
// if the function really waits; an audit in Once happens once on all three.
var Engines = []Engine{
	{"held", "linear.Coroutine: the function waits where it asks, and no line runs twice", coroutine(bare), coroutine(inOnce)},
	{"run again", "landmine B: from the top in each round, with the answers so far", again(bare), again(inOnce)},
	{"replayed", "linear.Journal: from the top in each round, with answers and effects replayed; a bare effect is not recorded", journal(bare), journal(inOnce)},
}

// maker makes a linear function that audits.
type maker func(*options.Audit) linear.Func[options.Query, options.Report]

func coroutine(f maker) func(*mrtr.Runtime, *options.Audit) options.Handler {
	return func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
		return mrtr.Tool(rt, linear.Coroutine(f(audit)), nil)
	}
}

func again(f maker) func(*mrtr.Runtime, *options.Audit) options.Handler {
	return func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
		return mrtr.Tool(rt, rerun(f(audit)), nil)
	}
}

func journal(f maker) func(*mrtr.Runtime, *options.Audit) options.Handler {
	return func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
		return mrtr.Tool(rt, linear.Journal(f(audit)), nil)
	}
}

// inOnce is the function bare with its audit in Once: that of styles H and J.
func inOnce(audit *options.Audit) linear.Func[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return options.Report{}, err
		}
		place, err := linear.Ask(ctx, c, which)
		if err != nil {
			return options.Report{}, err
		}
		_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {
			audit.Record(place)
			return true, nil
		})
		if err != nil {
			return options.Report{}, err
		}
		units, err := linear.Ask(ctx, c, options.Units)
		if err != nil {
			return options.Report{}, err
		}
		return options.NewReport(place, units), nil
	}
}
