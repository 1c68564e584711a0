package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// The later version of the weather tool asks for the units first, in each style.

func laterGuards(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), options.Report{}, nil
		}
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return nil, options.Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), options.Report{}, nil
		}
		audit.Record(place)
		return nil, options.NewReport(place, units), nil
	}), nil)
}

func laterOnce(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), options.Report{}, nil
		}
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return nil, options.Report{}, err
		}
		place, ok := mrtr.Answer(c, which)
		if !ok {
			return mrtr.Need(which), options.Report{}, nil
		}
		_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {
			audit.Record(place)
			return true, nil
		})
		if err != nil {
			return nil, options.Report{}, err
		}
		return nil, options.NewReport(place, units), nil
	}), nil)
}

func laterSteps(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	var b mrtr.Steps[options.Query, options.Report]
	units := mrtr.AskQuestion(&b, "units", options.Units)
	place := mrtr.AskStep(&b, "place", func(ctx context.Context, at *mrtr.At[options.Query]) (mrtr.Question[string], error) {
		return options.WhichPlace(at.In.Location)
	})
	mrtr.DoStep(&b, "audit", func(ctx context.Context, at *mrtr.At[options.Query], idem string) (bool, error) {
		audit.Record(place.Of(at))
		return true, nil
	})
	b.End(func(ctx context.Context, at *mrtr.At[options.Query]) (options.Report, error) {
		return options.NewReport(place.Of(at), units.Of(at)), nil
	})
	return mrtr.Tool(rt, b.MustBuild(), nil)
}

func laterLinear(style func(mrtr.LinearFunc[options.Query, options.Report]) mrtr.Style[options.Query, options.Report]) func(*mrtr.Runtime, *options.Audit) options.Handler {
	return func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
		return mrtr.Tool(rt, style(func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
			units, err := mrtr.Ask(ctx, c, options.Units)
			if err != nil {
				return options.Report{}, err
			}
			which, err := options.WhichPlace(q.Location)
			if err != nil {
				return options.Report{}, err
			}
			place, err := mrtr.Ask(ctx, c, which)
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
			return options.NewReport(place, units), nil
		}), nil)
	}
}
