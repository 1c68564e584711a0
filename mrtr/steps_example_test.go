package mrtr_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mrtr-go/sdk/mrtr"
)

// Each step runs once, and hands its value, with its type, to those after it.
func ExampleSteps() {
	var b mrtr.Steps[Order, Receipt]
	price := mrtr.DoStep(&b, "price", func(_ context.Context, at *mrtr.At[Order], idem string) (int, error) {
		fmt.Println("looking up", at.In.Item)
		return 40, nil
	})
	count := mrtr.AskStep(&b, "count", func(context.Context, *mrtr.At[Order]) (mrtr.Question[int], error) {
		return howMany, nil
	})
	total := mrtr.DoStep(&b, "total", func(_ context.Context, at *mrtr.At[Order], idem string) (int, error) {
		fmt.Println("adding up")
		return price.Of(at) * count.Of(at), nil
	})
	express := mrtr.AskStep(&b, "express", func(_ context.Context, at *mrtr.At[Order]) (mrtr.Question[bool], error) {
		return mrtr.Confirm("express", fmt.Sprintf("It is %d. Send it by express?", total.Of(at))), nil
	})
	b.End(func(_ context.Context, at *mrtr.At[Order]) (Receipt, error) {
		return Receipt{fmt.Sprintf("%d %s for %d, express: %t", count.Of(at), at.In.Item, total.Of(at), express.Of(at))}, nil
	})
	style, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	order(style)
	// Output:
	// looking up chairs
	// user is asked: How many?
	// adding up
	// user is asked: It is 120. Send it by express?
	// 3 chairs for 120, express: true
}

// A step that is passed over has no value. Later steps can tell.
func ExampleStep_Skipped() {
	var b mrtr.Steps[Order, Receipt]
	count := mrtr.AskStep(&b, "count", func(context.Context, *mrtr.At[Order]) (mrtr.Question[int], error) {
		return howMany, nil
	})
	discount := mrtr.DoStep(&b, "discount", func(_ context.Context, at *mrtr.At[Order], _ string) (int, error) {
		if count.Of(at) < 10 {
			return 0, mrtr.ErrSkip
		}
		return 5, nil
	})
	b.End(func(_ context.Context, at *mrtr.At[Order]) (Receipt, error) {
		return Receipt{fmt.Sprintf("%d %s, discount skipped: %t", count.Of(at), at.In.Item, discount.Skipped(at))}, nil
	})
	order(b.MustBuild())
	// Output:
	// user is asked: How many?
	// 3 chairs, discount skipped: true
}

// A payment whose answer was lost is asked about before anybody is told that its
// outcome is unknown.
func ExampleDoStepWith() {
	ledger := map[string]int{}
	pay := func(_ context.Context, at *mrtr.At[Order], idem string) (int, error) {
		ledger[idem] = 40
		return 0, mrtr.ErrIndeterminate // the answer was lost
	}
	check := func(_ context.Context, idem string) (int, bool, error) {
		paid, happened := ledger[idem]
		fmt.Println("the ledger has the payment:", happened)
		return paid, happened, nil
	}
	var b mrtr.Steps[Order, Receipt]
	paid := mrtr.DoStepWith(&b, "pay", &mrtr.OnceOptions[int]{Check: check}, pay)
	b.End(func(_ context.Context, at *mrtr.At[Order]) (Receipt, error) {
		return Receipt{fmt.Sprintf("%s for %d", at.In.Item, paid.Of(at))}, nil
	})
	order(b.MustBuild())
	// Output:
	// the ledger has the payment: true
	// chairs for 40
}
