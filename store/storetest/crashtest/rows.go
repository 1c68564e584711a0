//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

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
	// Paid returns the payments for an order, if they are not in the till.
	Paid func(ctx context.Context, address, order string) ([]Receipt, error)
}

var (
	mayPay  = mrtr.Confirm("pay", "Pay?")
	mayMail = mrtr.Confirm("mail", "Mail the receipt?")
)

// Linear makes the tool as a linear function out of its effect.
func Linear(till *Till, pay func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error)) mrtr.LinearFunc[Order, Receipt] {
	return func(ctx context.Context, c *mrtr.Call, in Order) (Receipt, error) {
		if _, err := mrtr.Ask(ctx, c, mayPay); err != nil {
			return Receipt{}, err
		}
		till.ring(in.Order, beforeTheEffect)
		receipt, err := pay(ctx, c, in.Order)
		till.ring(in.Order, afterTheEffect)
		till.Leaves()
		if err == nil && till.mails {
			_, err = mrtr.Ask(ctx, c, mayMail)
		}
		return receipt, err
	}
}

// guarded makes it as a guarded one.
func guarded(till *Till, pay func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error)) mrtr.Style[Order, Receipt] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, in Order) (*mrtr.IncompleteResult, Receipt, error) {
		if _, ok := mrtr.Answer(c, mayPay); !ok {
			return mrtr.Need(mayPay), Receipt{}, nil
		}
		till.ring(in.Order, beforeTheEffect)
		receipt, err := pay(ctx, c, in.Order)
		till.ring(in.Order, afterTheEffect)
		till.Leaves()
		if err == nil && till.mails {
			if _, ok := mrtr.Answer(c, mayMail); !ok {
				return mrtr.Need(mayMail), Receipt{}, nil
			}
		}
		return nil, receipt, err
	})
}

func once(till *Till, opts *mrtr.EffectOptions[Receipt]) func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
	return func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
		return mrtr.Once(ctx, c, "pay", func(ctx context.Context, idem string) (Receipt, error) {
			return till.Pay(ctx, order, idem)
		}, opts)
	}
}

// Rows are the ways that need nothing but a store for the rounds.
var Rows = []Row{
	{Name: "native", Style: func(till *Till) mrtr.Style[Order, Receipt] {
		return guarded(till, func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
			return till.Pay(ctx, order, c.ID())
		})
	}},
	{Name: "once", Style: func(till *Till) mrtr.Style[Order, Receipt] { return guarded(till, once(till, nil)) }},
	{
		Name: "once + InterruptedAgain", Opts: mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain},
		Style: func(till *Till) mrtr.Style[Order, Receipt] { return guarded(till, once(till, nil)) },
	},
	{Name: "coroutine", Style: func(till *Till) mrtr.Style[Order, Receipt] { return mrtr.Coroutine(Linear(till, once(till, nil))) }},
	{Name: "steps", Style: steps},
	{Name: "journal", Style: func(till *Till) mrtr.Style[Order, Receipt] { return mrtr.Journal(Linear(till, once(till, nil))) }},
	{Name: "journal + Check", Style: func(till *Till) mrtr.Style[Order, Receipt] {
		return mrtr.Journal(Linear(till, once(till, &mrtr.EffectOptions[Receipt]{Check: till.Find})))
	}},
	{Name: "journal + Again", Twice: true, Style: func(till *Till) mrtr.Style[Order, Receipt] {
		return mrtr.Journal(Linear(till, once(till, &mrtr.EffectOptions[Receipt]{Again: true})))
	}},
	{Name: "resumable", Style: func(till *Till) mrtr.Style[Order, Receipt] { return mrtr.Resumable(Linear(till, once(till, nil))) }},
}

func steps(till *Till) mrtr.Style[Order, Receipt] {
	var list mrtr.Steps[Order, Receipt]
	mrtr.AskQuestion(&list, "pay", mayPay)
	mrtr.AskStep(&list, "before", func(_ context.Context, at *mrtr.At[Order]) (mrtr.Question[string], error) {
		till.ring(at.In.Order, beforeTheEffect)
		return mrtr.Known(""), nil
	})
	receipt := mrtr.DoStep(&list, "take", func(ctx context.Context, at *mrtr.At[Order], idem string) (Receipt, error) {
		return till.Pay(ctx, at.In.Order, idem)
	})
	mrtr.AskStep(&list, "after", func(_ context.Context, at *mrtr.At[Order]) (mrtr.Question[string], error) {
		till.ring(at.In.Order, afterTheEffect)
		till.Leaves()
		return mrtr.Known(""), nil
	})
	if till.mails {
		mrtr.AskQuestion(&list, "mail", mayMail)
	}
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

// Receipt is the value of the effect.
type Receipt struct {
	Order string `json:"order"`
	Idem  string `json:"idem"`
}

// Till is the system that takes the money. It takes it as often as it is told to,
// so that a second payment shows.
type Till struct {
	path string
	trap *trap
	slow time.Duration
	// remembered: the rounds are, in a store.
	remembered bool
	hook       func() // runs when the effect has happened
	mails      bool   // there is a question behind the effect
	bell       string // the URL of a bell; "" for none
}

// Pay takes money: it appends a line to a file.
func (t *Till) Pay(ctx context.Context, order, idem string) (Receipt, error) {
	if strings.Contains(order, "/") {
		return t.payAsOrdered(ctx, order, idem)
	}
	t.Begins()
	time.Sleep(t.slow / 2) // the system is slow and heeds no context
	if err := t.enter(order, idem); err != nil {
		return Receipt{}, err
	}
	time.Sleep(t.slow / 2) // and so is its answer: a kill hits an effect before and after it
	t.Happened()
	return Receipt{order, idem}, nil
}

// Begins says that the effect is about to happen. An effect that is not Pay
// calls it itself, and Happened.
func (t *Till) Begins() { t.trap.begins() }

// Happened says that the effect has happened.
func (t *Till) Happened() {
	t.trap.pass(AfterEffect)
	if t.hook != nil {
		t.hook()
	}
}

// Leaves says that the handler comes past its effect.
func (t *Till) Leaves() { t.trap.leaves(t.remembered) }

func (t *Till) enter(order, idem string) error {
	file, err := os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	//mrtr:allow bareeffect the native row pays without Once, as its table says
	if _, err := fmt.Fprintf(file, "%s %s\n", order, idem); err != nil {
		return err
	}
	return file.Sync()
}

// Find looks a payment up by its idempotency key. It is false for one that did not
// happen.
func (t *Till) Find(_ context.Context, idem string) (Receipt, bool, error) {
	paid, err := readPayments(t.path)
	if err != nil {
		return Receipt{}, false, err
	}
	for _, p := range paid {
		if p.Idem == idem {
			return p, true, nil
		}
	}
	return Receipt{}, false, nil
}

func readPayments(path string) ([]Receipt, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var paid []Receipt
	for line := range strings.Lines(string(text)) {
		order, idem, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			return nil, fmt.Errorf("%q is no payment", line)
		}
		paid = append(paid, Receipt{order, idem})
	}
	return paid, nil
}
