package contract

import (
	"context"
	"iter"

	"github.com/mrtr-go/sdk/mrtr"
)

// Two styles of our own, made of public names alone. A style is a layer: the engine knows
// neither, and holds both to every contract.

// sequence is a handler that yields its questions, and writes its result to out. Behind a
// yield the question has its answer. A yield that is false ends the round.
type sequence[In, Out any] func(ctx context.Context, c *mrtr.Call, in In, out *Out) iter.Seq2[asked, error]

// asked is a question with its answer, if there is one.
type asked struct {
	question mrtr.AnyQuestion
	answered bool
}

// ask reads the answer to a question into v.
func ask[T any](c *mrtr.Call, q mrtr.Question[T], v *T) (a asked) {
	a.question = q
	*v, a.answered = mrtr.Answer(c, q)
	return a
}

func sequenced[In, Out any](h sequence[In, Out]) mrtr.Style[In, Out] {
	return mrtr.Style[In, Out]{Print: "a sequence", Replays: true, Enter: func(ctx context.Context, p *mrtr.Pass, in In) (_ *mrtr.IncompleteResult, out Out, _ error) {
		p.Enter("")
		for a, err := range h(ctx, p.Call(), in, &out) {
			if err != nil {
				return nil, out, err
			}
			if !a.answered {
				return mrtr.Need(a.question), out, nil
			}
		}
		return nil, out, nil
	}}
}

// answerOf is the answer to a question. Without one it leaves the handler, as the exception does that
// C#'s SDK throws.
func answerOf[T any](c *mrtr.Call, q mrtr.Question[T]) T {
	v, ok := mrtr.Answer(c, q)
	if !ok {
		panic(unanswered{q})
	}
	return v
}

type unanswered struct{ question mrtr.AnyQuestion }

func raising[In, Out any](h func(ctx context.Context, c *mrtr.Call, in In) (Out, error)) mrtr.Style[In, Out] {
	return mrtr.Style[In, Out]{Print: "exceptions", Replays: true, Enter: func(ctx context.Context, p *mrtr.Pass, in In) (need *mrtr.IncompleteResult, out Out, err error) {
		p.Enter("")
		defer func() {
			switch left := recover().(type) {
			case nil:
			case unanswered:
				need = mrtr.Need(left.question)
			default:
				panic(left)
			}
		}()
		out, err = h(ctx, p.Call(), in)
		return nil, out, err
	}}
}
