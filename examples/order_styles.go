package examples

import (
	"context"
	"fmt"

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
	c.OnStop("reserve", func(context.Context, string, error) error { return release(reservation) })
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

// OrderLinear is the order as linear code, for Coroutine, Journal and Resumable.
func OrderLinear(ctx context.Context, c *mrtr.Call, in Order) (out Shipment, err error) {
	if err := checked(in); err != nil {
		return out, err
	}
	reservation, err := mrtr.Once(ctx, c, "reserve", reserve(in))
	if err != nil {
		return out, err
	}
	c.OnStop("reserve", func(context.Context, string, error) error { return release(reservation) })
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

// OrderSteps is the order as a list of steps. The loop is in the list, up to the
// largest order, and the steps of items that an order does not have are skipped.
func OrderSteps() mrtr.Style[Order, Shipment] {
	type at = mrtr.At[Order]
	var b mrtr.Steps[Order, Shipment]
	reserved := mrtr.DoStep(&b, "reserve", func(ctx context.Context, a *at, idem string) (string, error) {
		if err := checked(a.In); err != nil {
			return "", err
		}
		return reserve(a.In)(ctx, idem)
	})
	roots := mrtr.AskQuestion(&b, "projects", projects)
	var sizes []mrtr.Step[string]
	for i := range maxItems {
		key := fmt.Sprintf("size.%d", i)
		sizes = append(sizes, mrtr.AskStep(&b, key, func(_ context.Context, a *at) (q mrtr.Question[string], err error) {
			if i >= len(a.In.Items) {
				return q, mrtr.ErrSkip
			}
			return size(i, a.In.Items[i]), nil
		}))
	}
	to := mrtr.AskQuestion(&b, "address", address)
	card := mrtr.AskQuestion(&b, "note", note)
	greeted := mrtr.AskQuestion(&b, "greeting", greeting)
	mrtr.AskQuestion(&b, "payment", payment)
	b.OnStop("reserve", func(_ context.Context, a *at, _ string, _ error) error {
		if !reserved.Happened(a) {
			return nil
		}
		return release(reserved.Of(a))
	})
	shipped := mrtr.DoStep(&b, "ship", func(ctx context.Context, a *at, idem string) (Shipment, error) {
		p := parcel{project: firstOf(roots.Of(a)), to: to.Of(a), note: card.Of(a), greeting: words(greeted.Of(a))}
		for i, item := range a.In.Items {
			p.sizes = append(p.sizes, sizes[i].Of(a)+" "+item)
		}
		return ship(p)(ctx, idem)
	})
	b.End(func(_ context.Context, a *at) (Shipment, error) { return shipped.Of(a), nil })
	return b.MustBuild()
}

// OrderGiven is the order as a handler that is given its answers. What depends on nothing is
// asked in one round, so that the order takes three requests, where the other styles take
// one for each question. Its effects come after the last answer, as in OrderNative.
func OrderGiven() mrtr.Style[Order, Shipment] {
	roots, to := mrtr.ResolveQuestion[Order](projects), mrtr.ResolveQuestion[Order](address)
	card, greeted := mrtr.ResolveQuestion[Order](note), mrtr.ResolveQuestion[Order](greeting)
	sizes := mrtr.ResolveEach("size", func(_ context.Context, in Order) (asked []mrtr.Question[string], err error) {
		for i, item := range in.Items {
			asked = append(asked, size(i, item))
		}
		return asked, checked(in)
	})
	paid := mrtr.ResolveAfter2(sizes, to, "payment", func(context.Context, Order, []string, Address) (mrtr.Question[struct{}], error) {
		return payment, nil
	})
	return mrtr.GivenAll(func(ctx context.Context, c *mrtr.Call, in Order) (out Shipment, err error) {
		p := parcel{project: firstOf(roots.Of(c)), to: to.Of(c), note: card.Of(c), greeting: words(greeted.Of(c))}
		for i, item := range in.Items {
			p.sizes = append(p.sizes, sizes.Of(c)[i]+" "+item)
		}
		if _, err = reserve(in)(ctx, c.ID()); err != nil {
			return out, err
		}
		return ship(p)(ctx, c.ID())
	}, roots, to, card, greeted, sizes, paid)
}
