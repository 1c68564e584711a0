package landmine

import (
	"context"
	"errors"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// Await is landmine B: linear code that looks as if it waited for its user, on an
// engine that cannot wait. The engine abandons the function at the first question
// without an answer, and runs it again from the top in the next round with the
// answers so far. So a line that the source shows once runs once for each
// question below it.
//
// A legacy client is asked over its open session, so there the code does wait
// and audits once. The bug depends on the client: a test with a legacy client
// passes, and production with modern clients fails.
func Await(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
	return mrtr.Tool(rt, mrtr.ByVersion(rerun(bare(audit)), mrtr.Coroutine(bare(audit))), &mrtr.HandlerOptions{Needs: options.Always})
}

// rerun is that engine, built on mrtr's exported pieces: in a guarded handler Ask
// returns the question it cannot wait for as an error, and rerun returns that
// question as an incomplete result.
func rerun[In, Out any](h mrtr.LinearFunc[In, Out]) mrtr.Style[In, Out] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, in In) (*mrtr.IncompleteResult, Out, error) {
		out, err := h(ctx, c, in)
		var unasked *mrtr.UnaskedError
		if errors.As(err, &unasked) {
			return mrtr.Need(unasked.Questions...), out, nil
		}
		return nil, out, err
	})
}

// bare is the function of styles H and J without Once around its audit.
func bare(audit *options.Audit) mrtr.LinearFunc[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return options.Report{}, err
		}
		place, err := mrtr.Ask(ctx, c, which)
		if err != nil {
			return options.Report{}, err
		}
		audit.Record(place)
		units, err := mrtr.Ask(ctx, c, options.Units)
		if err != nil {
			return options.Report{}, err
		}
		return options.NewReport(place, units), nil
	}
}
