package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// Steps is style G: a list of named steps and one end. Choose it when a tool asks
// many questions, or has effects between them: an effect in a step runs once,
// without a wrapper. It costs a builder instead of plain code, and a call cannot
// go on after a deployment that changed the list.
func Steps(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, stepwise(audit), nil)
}

func stepwise(audit *Audit) mrtr.Style[Query, Report] {
	var b mrtr.Steps[Query, Report]
	place := mrtr.AskStep(&b, "place", func(ctx context.Context, at *mrtr.At[Query]) (mrtr.Question[string], error) {
		return WhichPlace(at.In.Location)
	})
	units := mrtr.AskQuestion(&b, "units", Units)
	b.End(func(ctx context.Context, at *mrtr.At[Query]) (Report, error) {
		audit.Record(place.Of(at))
		return NewReport(place.Of(at), units.Of(at)), nil
	})
	return b.MustBuild()
}
