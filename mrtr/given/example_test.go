package given_test

import (
	"context"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/internal/shop"
)

// Three answers that do not depend on one another take two requests: one that asks, and
// one that brings the answers.
func ExampleAll() {
	count := given.Always[shop.Order](shop.HowMany)
	express := given.Always[shop.Order](mrtr.Confirm("express", "Send it by express?"))
	insured := given.Question("insured", func(_ context.Context, in shop.Order) (mrtr.Question[bool], error) {
		return mrtr.Confirm("insured", "Insure "+mrtr.Quote(in.Item)+"?"), nil
	})
	shop.Sell(given.All(func(_ context.Context, at *given.At[shop.Order]) (shop.Receipt, error) {
		return shop.Receipt{Summary: fmt.Sprintf("%d %s, express: %t, insured: %t, in round %d", count.Of(at), at.In.Item, express.Of(at), insured.Of(at), at.Call.Round())}, nil
	}, count, express, insured))
	// Unordered output:
	// user is asked: How many?
	// user is asked: Send it by express?
	// user is asked: Insure "chairs"?
	// 3 chairs, express: true, insured: true, in round 2
}

// The handler is entered once, with its answer.
func ExampleHandler() {
	shop.Sell(given.Handler(given.Always[shop.Order](shop.HowMany), func(_ context.Context, _ *mrtr.Call, in shop.Order, count int) (shop.Receipt, error) {
		return shop.Receipt{Summary: fmt.Sprint(count, " ", in.Item)}, nil
	}))
	// Output:
	// user is asked: How many?
	// 3 chairs
}
