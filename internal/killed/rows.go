//go:build unix

package killed

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
)

// Order is the input of the tool.
type Order struct {
	Order string `json:"order"`
}

// Row is one way to write the tool, which asks whether to pay and then pays.
type Row struct {
	Name  string
	Style func(till *Till) mrtr.Style[Order, Receipt]
	Opts  mrtr.HandlerOptions
	// Twice allows that the effect happens again, with the same idempotency key.
	Twice bool
	// Paid are the payments for an order, where the till does not have them.
	Paid func(ctx context.Context, where, order string) ([]Receipt, error)
}

var mayPay = mrtr.Confirm("pay", "Pay?")

// Linear makes the tool as a linear function out of its effect.
func Linear(till *Till, pay func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error)) mrtr.LinearFunc[Order, Receipt] {
	return func(ctx context.Context, c *mrtr.Call, in Order) (Receipt, error) {
		if _, err := mrtr.Ask(ctx, c, mayPay); err != nil {
			return Receipt{}, err
		}
		receipt, err := pay(ctx, c, in.Order)
		till.Leaves()
		return receipt, err
	}
}

// guarded makes it as a guarded one.
func guarded(till *Till, pay func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error)) mrtr.Style[Order, Receipt] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, in Order) (*mrtr.IncompleteResult, Receipt, error) {
		if _, ok := mrtr.Answer(c, mayPay); !ok {
			return mrtr.Need(mayPay), Receipt{}, nil
		}
		receipt, err := pay(ctx, c, in.Order)
		till.Leaves()
		return nil, receipt, err
	})
}

func onceOnly(till *Till) func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
	return func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
		return mrtr.Once(ctx, c, "pay", func(ctx context.Context, idem string) (Receipt, error) {
			return till.Pay(ctx, order, idem)
		})
	}
}

func onceWith(till *Till, opts *mrtr.OnceOptions[Receipt]) func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
	return func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
		return mrtr.OnceWith(ctx, c, "pay", opts, func(ctx context.Context, idem string) (Receipt, error) {
			return till.Pay(ctx, order, idem)
		})
	}
}

// Rows are the ways that need nothing but a store for the rounds.
var Rows = []Row{
	{Name: "native", Style: func(till *Till) mrtr.Style[Order, Receipt] {
		return guarded(till, func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
			return till.Pay(ctx, order, c.ID())
		})
	}},
	{Name: "once", Style: func(till *Till) mrtr.Style[Order, Receipt] { return guarded(till, onceOnly(till)) }},
	{
		Name: "once, told to run again", Opts: mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain},
		Style: func(till *Till) mrtr.Style[Order, Receipt] { return guarded(till, onceOnly(till)) },
	},
	{Name: "coroutine", Style: func(till *Till) mrtr.Style[Order, Receipt] { return mrtr.Coroutine(Linear(till, onceOnly(till))) }},
	{Name: "steps", Style: steps},
	{Name: "journal", Style: func(till *Till) mrtr.Style[Order, Receipt] { return mrtr.Journal(Linear(till, onceOnly(till))) }},
	{Name: "journal + Check", Style: func(till *Till) mrtr.Style[Order, Receipt] {
		return mrtr.Journal(Linear(till, onceWith(till, &mrtr.OnceOptions[Receipt]{Check: till.Find})))
	}},
	{Name: "journal + Again", Twice: true, Style: func(till *Till) mrtr.Style[Order, Receipt] {
		return mrtr.Journal(Linear(till, onceWith(till, &mrtr.OnceOptions[Receipt]{Again: true})))
	}},
	{Name: "resumable", Style: func(till *Till) mrtr.Style[Order, Receipt] { return mrtr.Resumable(Linear(till, onceOnly(till))) }},
}

func steps(till *Till) mrtr.Style[Order, Receipt] {
	var list mrtr.Steps[Order, Receipt]
	mrtr.AskQuestion(&list, "pay", mayPay)
	receipt := mrtr.DoStep(&list, "take", func(ctx context.Context, at *mrtr.At[Order], idem string) (Receipt, error) {
		defer till.Records() // the end would be an effect of its own
		return till.Pay(ctx, at.In.Order, idem)
	})
	list.End(func(_ context.Context, at *mrtr.At[Order]) (Receipt, error) { return receipt.Of(at), nil })
	return list.MustBuild()
}

// Find returns the row of Rows with this name.
func Find(name string) Row {
	row, ok := rowOf(Rows, name)
	if !ok {
		panic("no row is named " + name)
	}
	return row
}

func rowOf(rows []Row, name string) (Row, bool) {
	for _, row := range rows {
		if row.Name == name {
			return row, true
		}
	}
	return Row{}, false
}
