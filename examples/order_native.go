package examples

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// OrderNative is the order as a guarded handler. It runs from the top in every round,
// so that its effects stand below the last guard: nothing has to be undone.
func OrderNative(ctx context.Context, c *mrtr.Call, in Order) (_ *mrtr.IncompleteResult, out Shipment, err error) {
	if err := checked(in); err != nil {
		return nil, out, err
	}
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
	if _, err = reserve(in)(ctx, c.ID()); err != nil {
		return nil, out, err
	}
	out, err = ship(p)(ctx, c.ID())
	return nil, out, err
}
