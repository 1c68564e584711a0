package examples

import (
	"context"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// OrderNative is the order with guards. It runs from the top in every round, so its effects stand
// below the last guard, and nothing has to be undone.
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

// OrderOnce reserves before it asks, so that the stock is there when the user has paid. Once
// reserves in the first round only, and Release undoes it.
func OrderOnce(ctx context.Context, c *mrtr.Call, in Order) (_ *mrtr.IncompleteResult, out Shipment, err error) {
	if err := checked(in); err != nil {
		return nil, out, err
	}
	if _, err := mrtr.Once(ctx, c, "reserve", reserve(in)); err != nil {
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
	out, err = mrtr.Once(ctx, c, "ship", ship(p))
	return nil, out, err
}

// Release undoes the reservation of an order that is not completed. It is declared with the style,
// so it runs without the handler too: after a crash, or for a user who never came back.
var Release = mrtr.UndoOf("reserve", release)

// OrderLinear is the order as linear code, for Coroutine, Journal and Resumable.
func OrderLinear(ctx context.Context, c *mrtr.Call, in Order) (out Shipment, err error) {
	if err := checked(in); err != nil {
		return out, err
	}
	if _, err := mrtr.Once(ctx, c, "reserve", reserve(in)); err != nil {
		return out, err
	}
	var p parcel
	roots, err := linear.Ask(ctx, c, projects)
	if err != nil {
		return out, err
	}
	for i, item := range in.Items {
		chosen, err := linear.Ask(ctx, c, size(i, item))
		if err != nil {
			return out, err
		}
		p.sizes = append(p.sizes, chosen+" "+item)
	}
	if p.to, err = linear.Ask(ctx, c, address); err != nil {
		return out, err
	}
	if p.note, err = linear.Ask(ctx, c, note); err != nil {
		return out, err
	}
	greeted, err := linear.Ask(ctx, c, greeting)
	if err != nil {
		return out, err
	}
	if _, err = linear.Ask(ctx, c, payment); err != nil {
		return out, err
	}
	p.project, p.greeting = firstOf(roots), words(greeted)
	return mrtr.Once(ctx, c, "ship", ship(p))
}

// OrderSteps is the order as a list of steps. It has a step for each item of the largest order,
// and skips those that an order does not have.
func OrderSteps() mrtr.Style[Order, Shipment] {
	type at = steps.At[Order]
	var b steps.List[Order, Shipment]
	reserved := steps.Do(&b, "reserve", func(ctx context.Context, a *at, idem string) (string, error) {
		if err := checked(a.In); err != nil {
			return "", err
		}
		return reserve(a.In)(ctx, idem)
	})
	steps.OnStop(&b, reserved, release)
	roots := steps.Always(&b, projects)
	var sizes []steps.Step[string]
	for i := range maxItems {
		key := fmt.Sprintf("size.%d", i)
		sizes = append(sizes, steps.Ask(&b, key, func(_ context.Context, a *at) (q mrtr.Question[string], err error) {
			if i >= len(a.In.Items) {
				return q, mrtr.ErrSkip
			}
			return size(i, a.In.Items[i]), nil
		}))
	}
	to := steps.Always(&b, address)
	card := steps.Always(&b, note)
	greeted := steps.Always(&b, greeting)
	steps.Always(&b, payment)
	shipped := steps.Do(&b, "ship", func(ctx context.Context, a *at, idem string) (Shipment, error) {
		p := parcel{project: firstOf(roots.Of(a)), to: to.Of(a), note: card.Of(a), greeting: words(greeted.Of(a))}
		for i, item := range a.In.Items {
			p.sizes = append(p.sizes, sizes[i].Of(a)+" "+item)
		}
		return ship(p)(ctx, idem)
	})
	b.End(func(_ context.Context, a *at) (Shipment, error) { return shipped.Of(a), nil })
	return b.MustBuild()
}

// OrderGiven is the order as a handler that is given its answers. Questions that depend on nothing
// share a round, so it takes three requests, where the other styles take one for each question.
// Its effects come after the last answer, as in OrderNative.
func OrderGiven() mrtr.Style[Order, Shipment] {
	roots, to := given.Always[Order](projects), given.Always[Order](address)
	card, greeted := given.Always[Order](note), given.Always[Order](greeting)
	paid := given.After(to, "payment", func(context.Context, Order, Address) (mrtr.Question[struct{}], error) { return payment, nil })
	needs := []given.Any[Order]{roots, to, card, greeted, paid}
	var sizes []given.Answer[Order, string]
	for i := range maxItems {
		sizes = append(sizes, given.Question(fmt.Sprintf("size.%d", i), func(_ context.Context, in Order) (q mrtr.Question[string], err error) {
			if i >= len(in.Items) {
				return mrtr.Known(""), checked(in)
			}
			return size(i, in.Items[i]), checked(in)
		}))
		needs = append(needs, sizes[i])
	}
	return given.All(func(ctx context.Context, at *given.At[Order]) (out Shipment, err error) {
		p := parcel{project: firstOf(roots.Of(at)), to: to.Of(at), note: card.Of(at), greeting: words(greeted.Of(at))}
		for i, item := range at.In.Items {
			p.sizes = append(p.sizes, sizes[i].Of(at)+" "+item)
		}
		if _, err = reserve(at.In)(ctx, at.Call.ID()); err != nil {
			return out, err
		}
		return ship(p)(ctx, at.Call.ID())
	}, needs...)
}
