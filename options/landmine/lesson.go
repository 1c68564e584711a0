package landmine

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/options"
)

// An Engine runs one linear function in its own way. Bare is the function with a
// bare charge between its two questions, InOnce the same function with Once around
// the charge.
type Engine struct {
	Name         string
	Explanation  string
	Bare, InOnce func(rt *mrtr.Runtime, card *Card) Handler
}

// Engines are three ways to run the same function. A bare charge happens once only
// if the function really waits; a charge in Once happens once on all three.
var Engines = []Engine{
	{"held", "linear.Coroutine: the function waits where it asks, and no line runs twice", by(linear.Coroutine[Query, Report], bare), options.Coroutine},
	{"run again", "landmine B: from the top in each round, with the answers so far", by(rerun[Query, Report], bare), by(rerun[Query, Report], inOnce)},
	{"replayed", "linear.Journal: from the top in each round, with answers and effects replayed; a bare effect is not recorded", by(linear.Journal[Query, Report], bare), options.Journal},
}

type linearFunc = linear.Func[Query, Report]

// by makes the handler that an engine makes of a function.
func by(engine func(linearFunc) mrtr.Style[Query, Report], f func(*Card) linearFunc) func(*mrtr.Runtime, *Card) Handler {
	return func(rt *mrtr.Runtime, card *Card) Handler { return mrtr.Tool(rt, engine(f(card)), nil) }
}

// inOnce is the function bare with its charge in Once: that of styles H and J.
func inOnce(card *Card) linearFunc {
	return func(ctx context.Context, c *mrtr.Call, q Query) (Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return Report{}, err
		}
		place, err := linear.Ask(ctx, c, which)
		if err != nil {
			return Report{}, err
		}
		_, err = mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) {
			card.Charge(place)
			return true, nil
		})
		if err != nil {
			return Report{}, err
		}
		units, err := linear.Ask(ctx, c, Units)
		if err != nil {
			return Report{}, err
		}
		return NewReport(place, units), nil
	}
}
