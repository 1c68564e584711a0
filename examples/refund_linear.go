package examples

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// RefundLinear is the refund as linear code, for Coroutine, Journal and Resumable.
func RefundLinear(ctx context.Context, c *mrtr.Call, in Refund) (Refunded, error) {
	paid, err := mrtr.Once(ctx, c, "freeze", freeze(in))
	if err != nil {
		return Refunded{}, err
	}
	c.OnStop(func(context.Context, error) { thaw(in) })
	t, err := mrtr.Ask(ctx, c, terms(paid))
	if err != nil {
		return Refunded{}, err
	}
	yes, err := mrtr.Ask(ctx, c, sure(t))
	if err != nil {
		return Refunded{}, err
	}
	if err := agreed(yes); err != nil {
		return Refunded{}, err
	}
	return Refunded{t.Cents, t.Email}, mrtr.Do(ctx, c, "pay", pay(in, t))
}
