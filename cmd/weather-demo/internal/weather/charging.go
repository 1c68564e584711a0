package weather

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/options"
)

// Charging are the styles that write their audit line above the last question, with an
// effect in the last round instead: they charge a card when all questions are answered. A
// request that arrives twice finds the audit in its state. A charge below the last question
// is in no state, so the request charges twice, in Once and in a doing step too, unless the
// server remembers its rounds. The other styles have their audit in the last round already.
var Charging = []options.Option{
	{Letter: "F", Name: "once" + CardSuffix, Axis: options.SingleEffect, Lesson: "Guards; the charge has a name, below the last one.", New: Once},
	{Letter: "G", Name: "steps" + CardSuffix, Axis: options.SingleEffect, Lesson: "Named steps; the last one that does something charges.", New: Steps},
	{Letter: "H", Name: "coroutine" + CardSuffix, Axis: options.SingleEffect, Lesson: "Linear code; the charge follows the last question.", New: Coroutine},
	{Letter: "J", Name: "journal" + CardSuffix, Axis: options.SingleEffect, Lesson: "The linear code of H, run again with everything replayed.", New: Journal},
	{Letter: "H+J", Name: "resumable" + CardSuffix, Axis: options.SingleEffect, Lesson: "Held where it asks, and replayed where its handler is gone.", New: Resumable},
}

// CardSuffix ends the names of these styles, and of their tools.
const CardSuffix = "_card"

// Once charges in mrtr.Once, below its last guard.
func Once(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(remembering(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

func remembering(card *options.Audit) mrtr.GuardedFunc[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return nil, options.Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), options.Report{}, nil
		}
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), options.Report{}, nil
		}
		_, err = mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) {
			card.Charge(place)
			return true, nil
		})
		if err != nil {
			return nil, options.Report{}, err
		}
		return nil, options.NewReport(place, units), nil
	}
}

// Steps charges in a doing step, behind the last one that asks.
func Steps(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, stepwise(card), nil)
}

func stepwise(card *options.Audit) mrtr.Style[options.Query, options.Report] {
	var b steps.List[options.Query, options.Report]
	place := steps.Ask(&b, "place", func(ctx context.Context, at *steps.At[options.Query]) (mrtr.Question[string], error) {
		return options.WhichPlace(at.In.Location)
	})
	units := steps.Always(&b, options.Units)
	steps.Do(&b, "charge", func(ctx context.Context, at *steps.At[options.Query], idem string) (bool, error) {
		card.Charge(place.Of(at))
		return true, nil
	})
	b.End(func(ctx context.Context, at *steps.At[options.Query]) (options.Report, error) {
		return options.NewReport(place.Of(at), units.Of(at)), nil
	})
	return b.MustBuild()
}

// Coroutine charges in mrtr.Once, behind its last question.
func Coroutine(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, linear.Coroutine(reading(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

// Journal is the function of [Coroutine], run again and replayed.
func Journal(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, linear.Journal(reading(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

// Resumable is the function of [Coroutine], held, and replayed where it is gone.
func Resumable(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, linear.Resumable(reading(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

func reading(card *options.Audit) linear.Func[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return options.Report{}, err
		}
		place, err := linear.Ask(ctx, c, which)
		if err != nil {
			return options.Report{}, err
		}
		units, err := linear.Ask(ctx, c, options.Units)
		if err != nil {
			return options.Report{}, err
		}
		_, err = mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) {
			card.Charge(place)
			return true, nil
		})
		if err != nil {
			return options.Report{}, err
		}
		return options.NewReport(place, units), nil
	}
}
