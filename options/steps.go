package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// Steps is style G: a list of named steps and one end. Choose it when a tool asks
// many questions, or has effects between them: a doing step runs once because of
// its place in the list, without a wrapper to forget. It costs a builder instead of
// plain code, and a call cannot go on after a deployment that changed the list.
func Steps(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, stepwise(audit), nil)
}

func stepwise(audit *Audit) mrtr.Style[Query, Report] {
	var b steps.List[Query, Report]
	place := steps.Ask(&b, "place", func(ctx context.Context, at *steps.At[Query]) (mrtr.Question[string], error) {
		return WhichPlace(at.In.Location)
	})
	steps.Do(&b, "audit", func(ctx context.Context, at *steps.At[Query], idem string) (bool, error) {
		audit.Record(place.Of(at))
		return true, nil
	})
	units := steps.Always(&b, Units)
	b.End(func(ctx context.Context, at *steps.At[Query]) (Report, error) {
		return NewReport(place.Of(at), units.Of(at)), nil
	})
	return b.MustBuild()
}
