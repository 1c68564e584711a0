package options

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// Coroutine is style H: linear code that stops where it asks and goes on with
// the answer. Choose it when the handler is long or branches a lot, and every
// round of a call reaches the same process. It costs one held goroutine for each
// call that waits for its user, and a call whose process is gone must be made
// again; linear.Resumable instead falls back to the journal.
func Coroutine(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, linear.Coroutine(reading(audit)), &mrtr.HandlerOptions{Needs: Always})
}

func reading(audit *Audit) linear.Func[Query, Report] {
	return func(ctx context.Context, c *mrtr.Call, q Query) (Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return Report{}, err
		}
		place, err := linear.Ask(ctx, c, which)
		if err != nil {
			return Report{}, err
		}
		_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {
			audit.Record(place)
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
