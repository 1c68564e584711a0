package examples

import (
	"context"
	"iter"

	"github.com/mrtr-go/sdk/mrtr"
)

// Sequence is a style of your own. The handler yields its questions and writes its result to out.
// Below a yield its question is answered. Return if a yield is false: the round ends there.
type Sequence[In, Out any] func(ctx context.Context, c *mrtr.Call, in In, out *Out) iter.Seq2[Asked, error]

// Asked is a question that [Ask] has looked up.
type Asked struct{ unanswered mrtr.AnyQuestion }

// Ask reads the answer to a question into v.
func Ask[T any](c *mrtr.Call, q mrtr.Question[T], v *T) (a Asked) {
	var ok bool
	if *v, ok = mrtr.Answer(c, q); !ok {
		a.unanswered = q
	}
	return a
}

// Style is the sequence as a style.
func (h Sequence[In, Out]) Style() mrtr.Style[In, Out] {
	return mrtr.Style[In, Out]{Print: "a sequence", Replays: true, Enter: func(ctx context.Context, p *mrtr.Pass, in In) (_ *mrtr.IncompleteResult, out Out, _ error) {
		p.Enter("")
		for a, err := range h(ctx, p.Call(), in, &out) {
			if err != nil {
				return nil, out, err
			}
			if a.unanswered != nil {
				return mrtr.Need(a.unanswered), out, nil
			}
		}
		return nil, out, nil
	}}
}

// Raising is another. [AnswerOf] panics out of the handler to ask, as C#'s SDK throws an exception.
type Raising[In, Out any] func(ctx context.Context, c *mrtr.Call, in In) (Out, error)

// AnswerOf returns the answer to a question. If there is none, it ends the round.
func AnswerOf[T any](c *mrtr.Call, q mrtr.Question[T]) T {
	v, ok := mrtr.Answer(c, q)
	if !ok {
		panic(raised{q})
	}
	return v
}

type raised struct{ question mrtr.AnyQuestion }

// Style is the handler as a style.
func (h Raising[In, Out]) Style() mrtr.Style[In, Out] {
	return mrtr.Style[In, Out]{Print: "exceptions", Replays: true, Enter: func(ctx context.Context, p *mrtr.Pass, in In) (need *mrtr.IncompleteResult, out Out, err error) {
		p.Enter("")
		defer func() {
			switch left := recover().(type) {
			case nil:
			case raised:
				need = mrtr.Need(left.question)
			default:
				panic(left)
			}
		}()
		out, err = h(ctx, p.Call(), in)
		return nil, out, err
	}}
}
