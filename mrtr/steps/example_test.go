package steps_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/shop"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// The steps of a loop are built in a loop, up to the largest number that makes sense.
// Those that are not needed are passed over.
func ExampleAsk_skipped() {
	var b steps.List[shop.Order, shop.Receipt]
	count := steps.Always(&b, shop.HowMany)
	var names []steps.Step[string]
	for i := range 5 {
		key := fmt.Sprintf("name.%d", i)
		names = append(names, steps.Ask(&b, key, func(_ context.Context, at *steps.At[shop.Order]) (mrtr.Question[string], error) {
			if i >= count.Of(at) {
				return mrtr.Question[string]{}, mrtr.ErrSkip
			}
			return mrtr.Known(fmt.Sprintf("guest %d", i+1)), nil
		}))
	}
	b.End(func(_ context.Context, at *steps.At[shop.Order]) (shop.Receipt, error) {
		var guests []string
		for _, name := range names {
			if !name.Skipped(at) {
				guests = append(guests, name.Of(at))
			}
		}
		return shop.Receipt{Summary: fmt.Sprintf("%s for %q", at.In.Item, guests)}, nil
	})
	shop.Sell(b.MustBuild())
	// Output:
	// user is asked: How many?
	// chairs for ["guest 1" "guest 2" "guest 3"]
}

// Each step runs once, and hands its value, with its type, to those after it. The price is only
// looked up, so the question does that itself.
func ExampleList() {
	prices := map[string]int{"chairs": 40}
	var b steps.List[shop.Order, shop.Receipt]
	count := steps.Ask(&b, "count", func(context.Context, *steps.At[shop.Order]) (mrtr.Question[int], error) {
		return shop.HowMany, nil
	})
	hold := steps.Do(&b, "hold", func(_ context.Context, at *steps.At[shop.Order], idem string) (string, error) {
		fmt.Println("holding", count.Of(at), at.In.Item)
		return "hold-1", nil
	})
	express := steps.Ask(&b, "express", func(_ context.Context, at *steps.At[shop.Order]) (mrtr.Question[bool], error) {
		return mrtr.Confirm("express", fmt.Sprintf("It is %d. Send it by express?", prices[at.In.Item]*count.Of(at))), nil
	})
	b.End(func(_ context.Context, at *steps.At[shop.Order]) (shop.Receipt, error) {
		return shop.Receipt{Summary: fmt.Sprintf("%d %s, %s, express: %t", count.Of(at), at.In.Item, hold.Of(at), express.Of(at))}, nil
	})
	style, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	shop.Sell(style)
	// Output:
	// user is asked: How many?
	// holding 3 chairs
	// user is asked: It is 120. Send it by express?
	// 3 chairs, hold-1, express: true
}

// A step that is passed over has no value. Later steps can tell.
func ExampleStep_Skipped() {
	var b steps.List[shop.Order, shop.Receipt]
	count := steps.Ask(&b, "count", func(context.Context, *steps.At[shop.Order]) (mrtr.Question[int], error) {
		return shop.HowMany, nil
	})
	voucher := steps.Do(&b, "voucher", func(_ context.Context, at *steps.At[shop.Order], _ string) (int, error) {
		if count.Of(at) < 10 {
			return 0, mrtr.ErrSkip
		}
		return 5, nil // redeemed
	})
	b.End(func(_ context.Context, at *steps.At[shop.Order]) (shop.Receipt, error) {
		return shop.Receipt{Summary: fmt.Sprintf("%d %s, voucher skipped: %t", count.Of(at), at.In.Item, voucher.Skipped(at))}, nil
	})
	shop.Sell(b.MustBuild())
	// Output:
	// user is asked: How many?
	// 3 chairs, voucher skipped: true
}

// A payment whose answer was lost is asked about before anybody is told that its
// outcome is unknown.
func ExampleDo_check() {
	ledger := map[string]int{}
	pay := func(_ context.Context, at *steps.At[shop.Order], idem string) (int, error) {
		ledger[idem] = 40
		return 0, mrtr.ErrIndeterminate // the answer was lost
	}
	check := func(_ context.Context, idem string) (int, bool, error) {
		paid, happened := ledger[idem]
		fmt.Println("the ledger has the payment:", happened)
		return paid, happened, nil
	}
	var b steps.List[shop.Order, shop.Receipt]
	paid := steps.Do(&b, "pay", pay, &mrtr.EffectOptions[int]{Check: check})
	b.End(func(_ context.Context, at *steps.At[shop.Order]) (shop.Receipt, error) {
		return shop.Receipt{Summary: fmt.Sprintf("%s for %d", at.In.Item, paid.Of(at))}, nil
	})
	shop.Sell(b.MustBuild())
	// Output:
	// the ledger has the payment: true
	// chairs for 40
}
