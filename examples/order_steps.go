package examples

import (
	"context"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
)

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
	b.OnStop(func(_ context.Context, a *at, _ error) {
		if reserved.Happened(a) {
			release(reserved.Of(a))
		}
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
