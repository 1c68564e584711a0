package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// Order is the input of the tool. Its text may say how the effect ends and how long it
// takes, as in "17/EOF/80ms"; see [EffectEnds].
type Order struct {
	Order string `json:"order"`
}

// Receipt is the value of the effect.
type Receipt struct {
	Order string `json:"order"`
	Idem  string `json:"idem"`
}

// Row is one way to write the tool, which asks whether to pay and then pays.
type Row struct {
	Name  string
	Style func(shop *Shop) mrtr.Style[Order, Receipt]
	Opts  mrtr.HandlerOptions
	// Twice allows that the effect happens again, with the same idempotency key.
	Twice bool
}

// The places of a round that the shop tells of.
const (
	Held            = "held" // and that has not ended
	BeforeTheEffect = "before the effect"
	InTheEffect     = "in the effect"
	Paid            = "paid" // and the effect has not ended
	EffectEnds      = "the effect ends"
	AfterTheEffect  = "after the effect"
)

// Shop is the system that takes the money. It takes it as often as it is told to, so that
// a second payment shows.
type Shop struct {
	Ledger Ledger
	Reach  func(order, place string) // runs at each place; nil for nothing does
	Mails  bool                      // there is a question behind the effect
	Holds  bool                      // there is an effect before the question, undone if the call stops
}

func (s *Shop) reach(order, place string) {
	if s.Reach != nil {
		s.Reach(order, place)
	}
}

// Ends are the ways in which an effect ends: all but the error have paid.
var Ends = map[string]func() error{
	"ok":      func() error { return nil },
	"error":   func() error { return cardRefused{} },
	"timeout": func() error { return context.DeadlineExceeded },
	"EOF":     func() error { return fmt.Errorf("bank: %w", io.EOF) },
	"panic":   func() error { panic("boom") },
}

// cardRefused is an error that its author expects, so that the boundary need not suspect an
// effect behind it.
type cardRefused struct{}

func (cardRefused) Error() string           { return "the card was refused" }
func (cardRefused) ToolErrorExpected() bool { return true }

// Pay takes money: it enters it into the ledger.
func (s *Shop) Pay(ctx context.Context, order, idem string) (Receipt, error) {
	_, rest, _ := strings.Cut(order, "/")
	end, lasting, _ := strings.Cut(rest, "/")
	end = cmp.Or(end, "ok")
	takes, err := time.ParseDuration(cmp.Or(lasting, "0s"))
	if err != nil {
		return Receipt{}, err
	}
	s.reach(order, InTheEffect)
	if ctx.Err() != nil {
		return Receipt{}, ctx.Err()
	}
	time.Sleep(takes / 2) // the system is slow and heeds no context
	if end != "error" {
		if err := s.Ledger.Enter(order, idem); err != nil {
			return Receipt{}, err
		}
	}
	s.reach(order, Paid)
	time.Sleep(takes / 2) // and so is its answer: a kill hits an effect before and after it
	s.reach(order, EffectEnds)
	return Receipt{order, idem}, Ends[end]()
}

// Find looks a payment up by its idempotency key. It is false for one that did not happen.
func (s *Shop) Find(_ context.Context, idem string) (Receipt, bool, error) {
	paid, err := Payments(s.Ledger)
	i := slices.IndexFunc(paid, func(p Receipt) bool { return p.Idem == idem })
	if i < 0 {
		return Receipt{}, false, err
	}
	return paid[i], true, err
}

// Payments are the lines of a ledger, but for what was held.
func Payments(l Ledger) (paid []Receipt, err error) {
	lines, err := l.Lines()
	for _, words := range lines {
		if words[0] == noteHeld || words[0] == noteReleased {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("%q is no payment", words)
		}
		paid = append(paid, Receipt{words[0], words[1]})
	}
	return paid, err
}

// Holds counts how often something was held for each order.
func Holds(l Ledger) (times map[string]int, err error) {
	times = map[string]int{}
	lines, err := l.Lines()
	for _, words := range lines {
		if words[0] == noteHeld {
			times[words[2]]++
		}
	}
	return times, err
}

// Judge holds an answer to an order against the ledger, and counts the payments. Its faults
// are those of package fault.
func Judge(l Ledger, order string, a Answer) int {
	paid := slices.DeleteFunc(fault.Must(Payments(l)), func(r Receipt) bool { return r.Order != order })
	switch {
	case len(paid) > 1:
		fault.Failf("paid more than once: %v", paid)
	case a.Class == "none" || a.Class == "unknown" || a.Class == "retryable":
	case (a.Class == "error" || a.Class == "gone") && len(paid) == 0:
	case (a.Class == "ok" || a.Class == "applied") && len(paid) == 1 && (a.Receipt == paid[0] || a.Class != "ok"):
	default:
		fault.Failf("the answer %v is not true: paid %v", a, paid)
	}
	return len(paid)
}

// Question is the key of the question before the payment.
const Question = "pay"

var (
	mayPay  = mrtr.Confirm(Question, "Pay?")
	mayMail = mrtr.Confirm("mail", "Mail the receipt?")
)

// The first words of lines that are no payments. Behind them stand a key and an order.
const noteHeld, noteReleased = "held", "released"

// hold notes that something is held for an order. It is released if the call stops.
func (s *Shop) hold(ctx context.Context, c *mrtr.Call, order string) error {
	if !s.Holds {
		return nil
	}
	_, err := mrtr.Once(ctx, c, "hold", func(_ context.Context, idem string) (string, error) { return s.enterHold(order, idem) })
	return err
}

func (s *Shop) enterHold(order, idem string) (string, error) {
	err := s.Ledger.Enter(noteHeld, idem, order)
	s.reach(order, Held)
	return idem, err
}

// undoing is the style with the undo of hold.
func (s *Shop) undoing(style mrtr.Style[Order, Receipt]) mrtr.Style[Order, Receipt] {
	if !s.Holds {
		return style
	}
	return style.OnStop(mrtr.UndoOf("hold", s.release))
}

func (s *Shop) release(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
	lines, err := s.Ledger.Lines()
	if err != nil {
		return err
	}
	for _, words := range lines {
		if words[0] == noteHeld && words[1] == u.Idem {
			err = errors.Join(err, s.Ledger.Enter(noteReleased, u.Idem, words[len(words)-1]))
		}
	}
	if err == nil && u.InDoubt {
		err = mrtr.ErrFound
	}
	return err
}

type payment func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error)

func reading(shop *Shop, pay payment) linear.Func[Order, Receipt] {
	return func(ctx context.Context, c *mrtr.Call, in Order) (Receipt, error) {
		if err := shop.hold(ctx, c, in.Order); err != nil {
			return Receipt{}, err
		}
		if _, err := linear.Ask(ctx, c, mayPay); err != nil {
			return Receipt{}, err
		}
		shop.reach(in.Order, BeforeTheEffect)
		receipt, err := pay(ctx, c, in.Order)
		shop.reach(in.Order, AfterTheEffect)
		if err == nil && shop.Mails {
			_, err = linear.Ask(ctx, c, mayMail)
		}
		return receipt, err
	}
}

// guarded holds nothing above its question if nothing remembers that it did.
func guarded(shop *Shop, remembers bool, pay payment) mrtr.Style[Order, Receipt] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, in Order) (*mrtr.IncompleteResult, Receipt, error) {
		if remembers {
			if err := shop.hold(ctx, c, in.Order); err != nil {
				return nil, Receipt{}, err
			}
		}
		if _, ok := mrtr.Answer(c, mayPay); !ok {
			return mrtr.Need(mayPay), Receipt{}, nil
		}
		shop.reach(in.Order, BeforeTheEffect)
		receipt, err := pay(ctx, c, in.Order)
		shop.reach(in.Order, AfterTheEffect)
		if err == nil && shop.Mails {
			if _, ok := mrtr.Answer(c, mayMail); !ok {
				return mrtr.Need(mayMail), Receipt{}, nil
			}
		}
		return nil, receipt, err
	})
}

func stepwise(shop *Shop) mrtr.Style[Order, Receipt] {
	var list steps.List[Order, Receipt]
	at := func(name, place string) {
		steps.Ask(&list, name, func(_ context.Context, at *steps.At[Order]) (mrtr.Question[string], error) {
			shop.reach(at.In.Order, place)
			return mrtr.Known(""), nil
		})
	}
	if shop.Holds {
		held := steps.Do(&list, "hold", func(_ context.Context, at *steps.At[Order], idem string) (string, error) {
			return shop.enterHold(at.In.Order, idem)
		})
		steps.OnStop(&list, held, shop.release)
	}
	steps.Always(&list, mayPay)
	at("before", BeforeTheEffect)
	receipt := steps.Do(&list, "take", func(ctx context.Context, at *steps.At[Order], idem string) (Receipt, error) {
		return shop.Pay(ctx, at.In.Order, idem)
	})
	at("after", AfterTheEffect)
	if shop.Mails {
		steps.Always(&list, mayMail)
	}
	list.End(func(_ context.Context, at *steps.At[Order]) (Receipt, error) { return receipt.Of(at), nil })
	return list.MustBuild()
}

// once pays in an effect, with options that the shop may fill in.
func once(shop *Shop, opts func(*Shop) *mrtr.EffectOptions[Receipt]) payment {
	return func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
		var filled *mrtr.EffectOptions[Receipt]
		if opts != nil {
			filled = opts(shop)
		}
		return mrtr.Once(ctx, c, "pay", func(ctx context.Context, idem string) (Receipt, error) {
			return shop.Pay(ctx, order, idem)
		}, filled)
	}
}

func check(shop *Shop) *mrtr.EffectOptions[Receipt] {
	return &mrtr.EffectOptions[Receipt]{Check: shop.Find}
}

func checkFirst(shop *Shop) *mrtr.EffectOptions[Receipt] {
	return &mrtr.EffectOptions[Receipt]{Check: shop.Find, CheckFirst: true}
}

func again(*Shop) *mrtr.EffectOptions[Receipt] { return &mrtr.EffectOptions[Receipt]{Again: true} }

type linearStyle func(linear.Func[Order, Receipt]) mrtr.Style[Order, Receipt]

func (style linearStyle) of(opts func(*Shop) *mrtr.EffectOptions[Receipt]) func(*Shop) mrtr.Style[Order, Receipt] {
	return func(shop *Shop) mrtr.Style[Order, Receipt] {
		return shop.undoing(style(reading(shop, once(shop, opts))))
	}
}

func guards(opts func(*Shop) *mrtr.EffectOptions[Receipt]) func(*Shop) mrtr.Style[Order, Receipt] {
	return func(shop *Shop) mrtr.Style[Order, Receipt] {
		return shop.undoing(guarded(shop, true, once(shop, opts)))
	}
}

var interrupted = mrtr.HandlerOptions{RunAgain: true}

// Rows are the ways of the tables.
var Rows = []Row{
	{Name: "native", Style: func(shop *Shop) mrtr.Style[Order, Receipt] {
		return guarded(shop, false, func(ctx context.Context, c *mrtr.Call, order string) (Receipt, error) {
			return shop.Pay(ctx, order, c.ID())
		})
	}},
	{Name: "once", Style: guards(nil)},
	{Name: "once + RunAgain", Opts: interrupted, Style: guards(nil)},
	{Name: "coroutine", Style: linearStyle(linear.Coroutine[Order, Receipt]).of(nil)},
	{Name: "steps", Style: stepwise},
	{Name: "journal", Style: linearStyle(linear.Journal[Order, Receipt]).of(nil)},
	{Name: "journal + Check", Style: linearStyle(linear.Journal[Order, Receipt]).of(check)},
	{Name: "journal + Again", Twice: true, Style: linearStyle(linear.Journal[Order, Receipt]).of(again)},
	{Name: "resumable", Style: linearStyle(linear.Resumable[Order, Receipt]).of(nil)},
}

// MoreRows are in no table.
var MoreRows = []Row{
	{Name: "journal + CheckFirst", Style: linearStyle(linear.Journal[Order, Receipt]).of(checkFirst)},
	{Name: "resumable + Check", Style: linearStyle(linear.Resumable[Order, Receipt]).of(check)},
	{Name: "once + Check + RunAgain", Opts: interrupted, Style: guards(check)},
}

// Find returns the row with this name.
func Find(name string) Row {
	all := slices.Concat(Rows, MoreRows)
	return all[slices.IndexFunc(all, func(r Row) bool { return r.Name == name })]
}
