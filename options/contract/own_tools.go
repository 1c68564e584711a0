package contract

import (
	"context"
	"iter"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
)

// OwnStyles are the weather tool in the two styles of package examples, which the engine
// does not know: a style is a layer.
func OwnStyles() []mrtrtest.Subject {
	subject := func(name string, style func(*options.Card) mrtr.Style[options.Query, options.Report]) mrtrtest.Subject {
		return subjectOf(name, true, func(rt *mrtr.Runtime, card *options.Card) options.Handler {
			return mrtr.Tool(rt, style(card), &mrtr.HandlerOptions{Needs: options.Always})
		})
	}
	return []mrtrtest.Subject{
		subject("sequence", func(a *options.Card) mrtr.Style[options.Query, options.Report] { return weatherSequence(a).Style() }),
		subject("exceptions", func(a *options.Card) mrtr.Style[options.Query, options.Report] { return weatherRaising(a).Style() }),
	}
}

// chargedOnce charges for a report, once.
func chargedOnce(ctx context.Context, c *mrtr.Call, card *options.Card, place string) error {
	return mrtr.Do(ctx, c, "charge", func(context.Context, string) error { card.Charge(place); return nil })
}

func weatherSequence(card *options.Card) examples.Sequence[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query, out *options.Report) iter.Seq2[examples.Asked, error] {
		return func(yield func(examples.Asked, error) bool) {
			var place, units string
			which, err := options.WhichPlace(q.Location)
			if !yield(examples.Ask(c, which, &place), err) {
				return
			}
			err = chargedOnce(ctx, c, card, place)
			if !yield(examples.Ask(c, options.Units, &units), err) {
				return
			}
			*out = options.NewReport(place, units)
		}
	}
}

func weatherRaising(card *options.Card) examples.Raising[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return options.Report{}, err
		}
		place := examples.AnswerOf(c, which)
		if err := chargedOnce(ctx, c, card, place); err != nil {
			return options.Report{}, err
		}
		return options.NewReport(place, examples.AnswerOf(c, options.Units)), nil
	}
}

func orderSequence(hold holding) examples.Sequence[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order, out *receipt) iter.Seq2[examples.Asked, error] {
		return func(yield func(examples.Asked, error) bool) {
			var n int
			if !yield(examples.Ask(c, count, &n), nil) {
				return
			}
			held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
			out.Hold = held
			yield(examples.Ask(c, gift, &out.Gift), err)
		}
	}
}

func orderRaising(hold holding) examples.Raising[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order) (receipt, error) {
		n := examples.AnswerOf(c, count)
		held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
		if err != nil {
			return receipt{}, err
		}
		return receipt{held, examples.AnswerOf(c, gift)}, nil
	}
}
