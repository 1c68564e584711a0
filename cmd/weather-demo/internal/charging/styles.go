package charging

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/sse"
)

// Native charges below its last guard, with nothing around the charge.
func Native(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(guarded(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

// SSEShim is the handler of [Native] inside sse.Bridge.
func SSEShim(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return sse.Bridge(mrtr.Tool(rt, mrtr.Native(guarded(card)), &mrtr.HandlerOptions{Needs: options.Always, Legacy: mrtr.LegacyPassThrough}), nil)
}

func guarded(card *options.Audit) mrtr.GuardedFunc[options.Query, options.Report] {
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
		card.Charge(place)
		return nil, options.NewReport(place, units), nil
	}
}

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
	var b mrtr.Steps[options.Query, options.Report]
	place := mrtr.AskStep(&b, "place", func(ctx context.Context, at *mrtr.At[options.Query]) (mrtr.Question[string], error) {
		return options.WhichPlace(at.In.Location)
	})
	units := mrtr.AskQuestion(&b, "units", options.Units)
	mrtr.DoStep(&b, "charge", func(ctx context.Context, at *mrtr.At[options.Query], idem string) (bool, error) {
		card.Charge(place.Of(at))
		return true, nil
	})
	b.End(func(ctx context.Context, at *mrtr.At[options.Query]) (options.Report, error) {
		return options.NewReport(place.Of(at), units.Of(at)), nil
	})
	return b.MustBuild()
}

// Coroutine charges in mrtr.Once, behind its last question.
func Coroutine(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Coroutine(linear(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

// Journal is the function of [Coroutine], run again and replayed.
func Journal(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Journal(linear(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

// Resumable is the function of [Coroutine], held, and replayed where it is gone.
func Resumable(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Resumable(linear(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

func linear(card *options.Audit) mrtr.LinearFunc[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return options.Report{}, err
		}
		place, err := mrtr.Ask(ctx, c, which)
		if err != nil {
			return options.Report{}, err
		}
		units, err := mrtr.Ask(ctx, c, options.Units)
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

// Given charges in mrtr.Once, in the handler that is given its answers.
func Given(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, given(card), &mrtr.HandlerOptions{Needs: options.Always})
}

func given(card *options.Audit) mrtr.Style[options.Query, options.Report] {
	place := mrtr.Resolve("place", func(_ context.Context, q options.Query) (mrtr.Question[string], error) {
		return options.WhichPlace(q.Location)
	})
	units := mrtr.ResolveAfter(place, "units", func(context.Context, options.Query, string) (mrtr.Question[string], error) {
		return options.Units, nil
	})
	return mrtr.Given2(place, units, func(ctx context.Context, c *mrtr.Call, _ options.Query, place, units string) (options.Report, error) {
		_, err := mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) {
			card.Charge(place)
			return true, nil
		})
		if err != nil {
			return options.Report{}, err
		}
		return options.NewReport(place, units), nil
	})
}

// VersionBranch charges at the end of each branch.
func VersionBranch(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(branching(card)), &mrtr.HandlerOptions{Needs: options.Always})
}

func branching(card *options.Audit) mrtr.GuardedFunc[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return nil, options.Report{}, err
		}
		if !c.Modern() {
			place, err := which.AskOver(ctx, c.Session())
			if err != nil {
				return nil, options.Report{}, err
			}
			units, err := options.Units.AskOver(ctx, c.Session())
			if err != nil {
				return nil, options.Report{}, err
			}
			card.Charge(place)
			return nil, options.NewReport(place, units), nil
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), options.Report{}, nil
		}
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), options.Report{}, nil
		}
		card.Charge(place)
		return nil, options.NewReport(place, units), nil
	}
}

// TwoHandlers is the handler of [Native], and one that waits for legacy clients.
func TwoHandlers(rt *mrtr.Runtime, card *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.ByVersion(mrtr.Native(guarded(card)), mrtr.Native(waiting(card))), &mrtr.HandlerOptions{Needs: options.Always})
}

func waiting(card *options.Audit) mrtr.GuardedFunc[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return nil, options.Report{}, err
		}
		place, err := which.AskOver(ctx, c.Session())
		if err != nil {
			return nil, options.Report{}, err
		}
		units, err := options.Units.AskOver(ctx, c.Session())
		if err != nil {
			return nil, options.Report{}, err
		}
		card.Charge(place)
		return nil, options.NewReport(place, units), nil
	}
}
