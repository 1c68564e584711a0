package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
)

// Given is style K: the handler names the answers that it needs, and is entered once, when
// they are there. Choose it when all questions come before the work: there is no code above
// a question that could run twice. It costs a function for each question, and a handler
// that works between two questions cannot be written so.
func Given(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, answered(audit), &mrtr.HandlerOptions{Needs: Always})
}

func answered(audit *Audit) mrtr.Style[Query, Report] {
	place := given.Question("place", func(_ context.Context, q Query) (mrtr.Question[string], error) {
		return WhichPlace(q.Location)
	})
	// Units come after place, so that this style asks as all others do.
	units := given.After(place, "units", func(context.Context, Query, string) (mrtr.Question[string], error) {
		return Units, nil
	})
	return given.Handler2(place, units, func(_ context.Context, _ *mrtr.Call, _ Query, place, units string) (Report, error) {
		audit.Record(place)
		return NewReport(place, units), nil
	})
}
