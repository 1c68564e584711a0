// Package weather holds the parts that the demo's command shares with its page: the styles
// of the weather tool, in either era, and their source.
package weather

import (
	"context"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// Late are the styles that charge above the last question, with the charge below it. A
// request that arrives twice finds an early charge in its state. A late one is in no state,
// so the request charges twice, in Once and in a doing step too, unless the server remembers
// its rounds. The other styles charge late already.
var Late = []options.Option{
	{Letter: "F", Name: "once" + LateSuffix, Axis: options.SingleEffect, Lesson: "Guards; the charge has a name, below the last one.", New: lateOnce},
	{Letter: "G", Name: "steps" + LateSuffix, Axis: options.SingleEffect, Lesson: "Named steps; the last one that does something charges.", New: lateSteps},
	{Letter: "H", Name: "coroutine" + LateSuffix, Axis: options.SingleEffect, Lesson: "Linear code; the charge follows the last question.", New: lateCoroutine},
	{Letter: "J", Name: "journal" + LateSuffix, Axis: options.SingleEffect, Lesson: "The linear code of H, run again with everything replayed.", New: lateJournal},
	{Letter: "HJ", Name: "resumable" + LateSuffix, Axis: options.SingleEffect, Lesson: "Held where it asks, and replayed where its handler is gone.", New: lateResumable},
}

// atOnce makes a call of theirs a task, for a client that takes tasks.
var atOnce = mrtr.TaskPolicy{AtOnce: true}

// Work is the key of a function in a context, which takes the time of the reports made in it.
type Work struct{}

func work(ctx context.Context) {
	if f, ok := ctx.Value(Work{}).(func(context.Context)); ok {
		f(ctx)
	}
}

// LateSuffix ends the names of these styles, and of their tools.
const LateSuffix = "_late"

func lateOnce(rt *mrtr.Runtime, card *options.Card) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
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
		work(ctx)
		return nil, options.NewReport(place, units), nil
	}), &mrtr.HandlerOptions{Needs: options.Always, Task: atOnce, RunAgain: true})
}

func lateSteps(rt *mrtr.Runtime, card *options.Card) options.Handler {
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
		work(ctx)
		return options.NewReport(place.Of(at), units.Of(at)), nil
	})
	return mrtr.Tool(rt, b.MustBuild(), &mrtr.HandlerOptions{Task: atOnce})
}

func lateCoroutine(rt *mrtr.Runtime, card *options.Card) options.Handler {
	return mrtr.Tool(rt, linear.Coroutine(reading(card)), &mrtr.HandlerOptions{Needs: options.Always, Task: atOnce})
}

func lateJournal(rt *mrtr.Runtime, card *options.Card) options.Handler {
	return mrtr.Tool(rt, linear.Journal(reading(card)), &mrtr.HandlerOptions{Needs: options.Always, Task: atOnce})
}

func lateResumable(rt *mrtr.Runtime, card *options.Card) options.Handler {
	return mrtr.Tool(rt, linear.Resumable(reading(card)), &mrtr.HandlerOptions{Needs: options.Always, Task: atOnce})
}

func reading(card *options.Card) linear.Func[options.Query, options.Report] {
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
		work(ctx)
		return options.NewReport(place, units), nil
	}
}

// Implementation is how the demo's servers and clients introduce themselves.
var Implementation = &mcp.Implementation{Name: "weather-demo", Version: "1.0.0"}

// Era names a kind of client.
type Era string

const (
	Modern Era = "modern"
	Legacy Era = "legacy"
)

// Client is a raw client of this era.
func (e Era) Client() *wire.Options {
	if e == Legacy {
		return &wire.Options{Version: wire.Legacy}
	}
	return nil
}

// FirstChoices is a user who always takes the first choice.
var FirstChoices = wire.Answers{
	"place": wire.Value("Springfield, Illinois"),
	"units": wire.Value("metric"),
}

// Styles lists the styles, then the landmines.
func Styles() []options.Option { return slices.Concat(options.All, landmine.All) }

// ChargesLate reports whether a style is one of [Late].
func ChargesLate(o options.Option) bool {
	return slices.ContainsFunc(Late, func(l options.Option) bool { return l.Name == o.Name })
}

// Tool is the weather tool in one style.
func Tool(o options.Option) *mcp.Tool {
	return &mcp.Tool{Name: o.Tool(), Description: "The weather at a place, for a small charge. " + o.Lesson, Annotations: Additive}
}

// Additive marks a tool that destroys nothing.
var Additive = &mcp.ToolAnnotations{DestructiveHint: new(bool)}

// ErrorType is the type that an error gives itself. Its text may hold an answer, and is
// neither logged nor shown.
func ErrorType(err error) string {
	var typed interface{ ToolErrorType() string }
	switch {
	case err == nil:
		return ""
	case errors.As(err, &typed):
		return typed.ToolErrorType()
	}
	return "error"
}
