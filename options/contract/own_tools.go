package contract

import (
	"context"
	"iter"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
)

// OwnStyles are the weather tool in the two styles of our own.
func OwnStyles() []mrtrtest.Subject {
	subject := func(name string, style func(*options.Audit) mrtr.Style[options.Query, options.Report]) mrtrtest.Subject {
		return subjectOf(name, true, func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
			return mrtr.Tool(rt, style(audit), &mrtr.HandlerOptions{Needs: options.Always})
		})
	}
	return []mrtrtest.Subject{
		subject("sequence", func(a *options.Audit) mrtr.Style[options.Query, options.Report] { return sequenced(weatherSequence(a)) }),
		subject("exceptions", func(a *options.Audit) mrtr.Style[options.Query, options.Report] { return raising(weatherRaising(a)) }),
	}
}

// audited writes the line of a lookup, once.
func audited(ctx context.Context, c *mrtr.Call, audit *options.Audit, place string) error {
	return mrtr.Do(ctx, c, "audit", func(context.Context, string) error { audit.Record(place); return nil })
}

func weatherSequence(audit *options.Audit) sequence[options.Query, options.Report] {
	return func(ctx context.Context, c *mrtr.Call, q options.Query, out *options.Report) iter.Seq2[asked, error] {
		return func(yield func(asked, error) bool) {
			var place, units string
			which, err := options.WhichPlace(q.Location)
			if !yield(ask(c, which, &place), err) {
				return
			}
			err = audited(ctx, c, audit, place)
			if !yield(ask(c, options.Units, &units), err) {
				return
			}
			*out = options.NewReport(place, units)
		}
	}
}

func weatherRaising(audit *options.Audit) func(context.Context, *mrtr.Call, options.Query) (options.Report, error) {
	return func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
		which, err := options.WhichPlace(q.Location)
		if err != nil {
			return options.Report{}, err
		}
		place := answerOf(c, which)
		if err := audited(ctx, c, audit, place); err != nil {
			return options.Report{}, err
		}
		return options.NewReport(place, answerOf(c, options.Units)), nil
	}
}

func orderSequence(hold holding) sequence[order, receipt] {
	return func(ctx context.Context, c *mrtr.Call, o order, out *receipt) iter.Seq2[asked, error] {
		return func(yield func(asked, error) bool) {
			var n int
			if !yield(ask(c, count, &n), nil) {
				return
			}
			held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
			out.Hold = held
			yield(ask(c, gift, &out.Gift), err)
		}
	}
}

func orderRaising(hold holding) func(context.Context, *mrtr.Call, order) (receipt, error) {
	return func(ctx context.Context, c *mrtr.Call, o order) (receipt, error) {
		n := answerOf(c, count)
		held, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return hold(o.Item, n), nil })
		if err != nil {
			return receipt{}, err
		}
		return receipt{held, answerOf(c, gift)}, nil
	}
}
