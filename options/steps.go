package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

func Steps(rt *mrtr.Runtime, card *Card) Handler {
	var b steps.List[Query, Report]
	place := steps.Ask(&b, "place", func(ctx context.Context, at *steps.At[Query]) (mrtr.Question[string], error) {
		return WhichPlace(at.In.Location)
	})
	steps.Do(&b, "charge", func(ctx context.Context, at *steps.At[Query], idem string) (bool, error) { // a step that does runs once
		card.Charge(place.Of(at))
		return true, nil
	})
	units := steps.Always(&b, Units)
	b.End(func(ctx context.Context, at *steps.At[Query]) (Report, error) {
		return NewReport(place.Of(at), units.Of(at)), nil
	})
	return mrtr.Tool(rt, b.MustBuild(), nil)
}
