package examples

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// OrderLinear is the order as linear code, for Coroutine, Journal and Resumable.
func OrderLinear(ctx context.Context, c *mrtr.Call, in Order) (out Shipment, err error) {
	if err := checked(in); err != nil {
		return out, err
	}
	reservation, err := mrtr.Once(ctx, c, "reserve", reserve(in))
	if err != nil {
		return out, err
	}
	c.OnStop(func(context.Context, error) { release(reservation) })
	var p parcel
	roots, err := mrtr.Ask(ctx, c, projects)
	if err != nil {
		return out, err
	}
	for i, item := range in.Items {
		chosen, err := mrtr.Ask(ctx, c, size(i, item))
		if err != nil {
			return out, err
		}
		p.sizes = append(p.sizes, chosen+" "+item)
	}
	if p.to, err = mrtr.Ask(ctx, c, address); err != nil {
		return out, err
	}
	if p.note, err = mrtr.Ask(ctx, c, note); err != nil {
		return out, err
	}
	greeted, err := mrtr.Ask(ctx, c, greeting)
	if err != nil {
		return out, err
	}
	if _, err = mrtr.Ask(ctx, c, payment); err != nil {
		return out, err
	}
	p.project, p.greeting = firstOf(roots), words(greeted)
	return mrtr.Once(ctx, c, "ship", ship(p))
}
