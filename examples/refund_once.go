package examples

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// RefundOnce freezes the payment before it asks, and thaws it where the call stops.
func RefundOnce(ctx context.Context, c *mrtr.Call, in Refund) (*mrtr.IncompleteResult, Refunded, error) {
	paid, err := mrtr.Once(ctx, c, "freeze", freeze(in))
	if err != nil {
		return nil, Refunded{}, err
	}
	c.OnStop(func(context.Context, error) { thaw(in) })
	t, ok := mrtr.Answer(c, terms(paid))
	if !ok {
		return mrtr.Need(terms(paid)), Refunded{}, nil
	}
	yes, ok := mrtr.Answer(c, sure(t))
	if !ok {
		return mrtr.Need(sure(t)), Refunded{}, nil
	}
	if err := agreed(yes); err != nil {
		return nil, Refunded{}, err
	}
	return nil, Refunded{t.Cents, t.Email}, mrtr.Do(ctx, c, "pay", pay(in, t))
}
