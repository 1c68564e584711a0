package landmine

import (
	"context"
	"errors"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// Await is style B: linear code on an engine that cannot wait for its user. It abandons
// the function at the first question without an answer, and runs it again from the top in
// the next round with the answers so far. A line that the source shows once runs once for
// each question below it.
//
// A legacy client is asked over its open session, so there the code does wait and charges
// once. A test with a legacy client passes, and production with modern clients fails.
func Await(rt *mrtr.Runtime, card *Card) Handler {
	return mrtr.Tool(rt, mrtr.ByVersion(rerun(bare(card)), linear.Coroutine(bare(card))), &mrtr.HandlerOptions{Needs: Always})
}

// rerun is that engine, as a style of its own: asking returns the questions that it cannot wait
// for as an error, and rerun returns those questions as an incomplete result.
func rerun[In, Out any](h linear.Func[In, Out]) mrtr.Style[In, Out] {
	return mrtr.Style[In, Out]{Print: "a rerun", Replays: true, Enter: func(ctx context.Context, p *mrtr.Pass, in In) (*mrtr.IncompleteResult, Out, error) {
		p.Enter("")
		own := p.Held(asker{ctx, p}, false)
		own.Attach(p)
		out, err := h(ctx, own.Call(), in)
		var unasked *unasked
		if errors.As(err, &unasked) {
			return mrtr.Need(unasked.questions...), out, nil
		}
		return nil, out, err
	}}
}

// asker cannot wait.
type asker struct {
	life context.Context
	p    *mrtr.Pass
}

func (a asker) Await(questions []mrtr.AnyQuestion) error {
	for _, q := range questions {
		if !a.p.Answered(q) {
			return &unasked{questions}
		}
	}
	return nil
}

func (a asker) Again(mrtr.AnyQuestion) bool { return false }
func (a asker) MayRun(string, int) error    { return nil }
func (a asker) Life() context.Context       { return a.life }

type unasked struct{ questions []mrtr.AnyQuestion }

func (u *unasked) Error() string { return u.questions[0].Key() + " has no answer yet" }

// bare is the function of styles H and J without Once around its charge.
func bare(card *Card) linear.Func[Query, Report] {
	return func(ctx context.Context, c *mrtr.Call, q Query) (Report, error) {
		which, err := WhichPlace(q.Location)
		if err != nil {
			return Report{}, err
		}
		place, err := linear.Ask(ctx, c, which)
		if err != nil {
			return Report{}, err
		}
		card.Charge(place)
		units, err := linear.Ask(ctx, c, Units)
		if err != nil {
			return Report{}, err
		}
		return NewReport(place, units), nil
	}
}
