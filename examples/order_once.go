package examples

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// OrderOnce reserves before it asks, so that the stock is there when the user has paid.
// Once keeps the reservation over the rounds, and OnStop undoes it.
func OrderOnce(ctx context.Context, c *mrtr.Call, in Order) (_ *mrtr.IncompleteResult, out Shipment, err error) {
	if err := checked(in); err != nil {
		return nil, out, err
	}
	reservation, err := mrtr.Once(ctx, c, "reserve", reserve(in))
	if err != nil {
		return nil, out, err
	}
	c.OnStop(func(context.Context, error) { release(reservation) })
	var p parcel
	roots, ok := mrtr.Answer(c, projects)
	if !ok {
		return mrtr.Need(projects), out, nil
	}
	for i, item := range in.Items {
		chosen, ok := mrtr.Answer(c, size(i, item))
		if !ok {
			return mrtr.Need(size(i, item)), out, nil
		}
		p.sizes = append(p.sizes, chosen+" "+item)
	}
	if p.to, ok = mrtr.Answer(c, address); !ok {
		return mrtr.Need(address), out, nil
	}
	if p.note, ok = mrtr.Answer(c, note); !ok {
		return mrtr.Need(note), out, nil
	}
	greeted, ok := mrtr.Answer(c, greeting)
	if !ok {
		return mrtr.Need(greeting), out, nil
	}
	if _, ok = mrtr.Answer(c, payment); !ok {
		return mrtr.Need(payment), out, nil
	}
	p.project, p.greeting = firstOf(roots), words(greeted)
	out, err = mrtr.Once(ctx, c, "ship", ship(p))
	return nil, out, err
}
