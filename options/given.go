package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
)

func Given(rt *mrtr.Runtime, card *Card) Handler {
	place := given.Question("place", func(_ context.Context, q Query) (mrtr.Question[string], error) {
		return WhichPlace(q.Location)
	})
	// Units come after place, so that this style asks as all others do.
	units := given.After(place, "units", func(context.Context, Query, string) (mrtr.Question[string], error) {
		return Units, nil
	})
	return mrtr.Tool(rt, given.Handler2(place, units, func(_ context.Context, _ *mrtr.Call, _ Query, place, units string) (Report, error) {
		card.Charge(place) // the handler is entered once, with all answers
		return NewReport(place, units), nil
	}), &mrtr.HandlerOptions{Needs: Always})
}
