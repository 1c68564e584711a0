package examples

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// RefundSteps is the refund as a list of steps.
func RefundSteps() mrtr.Style[Refund, Refunded] {
	type at = mrtr.At[Refund]
	var b mrtr.Steps[Refund, Refunded]
	frozen := mrtr.DoStep(&b, "freeze", func(ctx context.Context, a *at, idem string) (int, error) { return freeze(a.In)(ctx, idem) })
	t := mrtr.AskStep(&b, "terms", func(_ context.Context, a *at) (mrtr.Question[Terms], error) { return terms(frozen.Of(a)), nil })
	yes := mrtr.AskStep(&b, "sure", func(_ context.Context, a *at) (mrtr.Question[mrtr.Replied[bool]], error) { return sure(t.Of(a)), nil })
	b.OnStop(func(_ context.Context, a *at, _ error) {
		if frozen.Happened(a) {
			thaw(a.In)
		}
	})
	mrtr.DoStep(&b, "pay", func(ctx context.Context, a *at, idem string) (struct{}, error) {
		if err := agreed(yes.Of(a)); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, pay(a.In, t.Of(a))(ctx, idem)
	})
	b.End(func(_ context.Context, a *at) (Refunded, error) { return Refunded{t.Of(a).Cents, t.Of(a).Email}, nil })
	return b.MustBuild()
}
