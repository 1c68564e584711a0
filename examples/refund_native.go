package examples

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// RefundNative is the refund as a guarded handler, with all effects below its guards.
// The amount that was paid is not known when it asks.
func RefundNative(ctx context.Context, c *mrtr.Call, in Refund) (*mrtr.IncompleteResult, Refunded, error) {
	t, ok := mrtr.Answer(c, terms(0))
	if !ok {
		return mrtr.Need(terms(0)), Refunded{}, nil
	}
	yes, ok := mrtr.Answer(c, sure(t))
	if !ok {
		return mrtr.Need(sure(t)), Refunded{}, nil
	}
	if err := agreed(yes); err != nil {
		return nil, Refunded{}, err
	}
	return nil, Refunded{t.Cents, t.Email}, pay(in, t)(ctx, c.ID())
}
