// Package given builds a handler that is given its answers: it names the questions that it needs,
// and is entered once, when all of them are answered. Questions that wait for no other
// answer go out together, in one round.
//
//	place := given.Question("place", func(ctx context.Context, q Query) (mrtr.Question[string], error) {
//		return whichPlace(q.Location)
//	})
//	style := given.Handler(place, func(ctx context.Context, c *mrtr.Call, q Query, place string) (Report, error) {
//		return report(place), nil
//	})
package given

import (
	"context"
	"slices"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr"
)

// An Answer is one that a handler has before it is entered. Its function answers, with
// [mrtr.Known], or asks. It may run again in a later round, so it has no effect. One Answer may
// serve any number of handlers with the same input.
type Answer[In, T any] struct{ *answer[In] }

// answer is an Answer without its type.
type answer[In any] struct {
	key   string
	after []*answer[In]
	// ask makes the question, or has its value. The answers before it are known.
	ask func(ctx context.Context, at *At[In]) (mrtr.AnyQuestion, error)
	// read is the value of the answer to a question that ask made.
	read func(c *mrtr.Call, q mrtr.AnyQuestion) (value any, ok bool)
}

// Question is an answer that depends on the input alone. The key is that of its question.
func Question[In, T any](key string, ask func(ctx context.Context, in In) (mrtr.Question[T], error)) Answer[In, T] {
	return newAnswer(key, ask != nil, func(ctx context.Context, at *At[In]) (mrtr.Question[T], error) { return ask(ctx, at.In) })
}

// Always is the answer to a question that is the same in each call.
func Always[In, T any](q mrtr.Question[T]) Answer[In, T] {
	if err := q.Err(); err != nil {
		panic(err)
	}
	return Question(q.Key(), func(context.Context, In) (mrtr.Question[T], error) { return q, nil })
}

// Following makes the question that follows from an answer.
type Following[In, A, T any] func(ctx context.Context, in In, a A) (mrtr.Question[T], error)

// After is an answer that depends on another one. Its function runs when that is known, so its
// question goes out in a later round.
func After[In, A, T any](a Answer[In, A], key string, ask Following[In, A, T]) Answer[In, T] {
	return newAnswer(key, ask != nil, func(ctx context.Context, at *At[In]) (mrtr.Question[T], error) {
		return ask(ctx, at.In, a.Of(at))
	}, a.answer)
}

func newAnswer[In, T any](key string, asks bool, ask func(ctx context.Context, at *At[In]) (mrtr.Question[T], error), after ...*answer[In]) Answer[In, T] {
	if err := usage.CheckKey(key); err != nil {
		panic(err)
	}
	if !asks {
		panic(misuse("the answer %q has no function that answers or asks", key))
	}
	if slices.Contains(after, nil) {
		panic(misuse("the answer %q depends on the zero Answer: make that first, with Question", key))
	}
	return Answer[In, T]{&answer[In]{
		key: key, after: after,
		ask: func(ctx context.Context, at *At[In]) (mrtr.AnyQuestion, error) {
			q, err := ask(ctx, at)
			if err == nil {
				err = q.Err()
			}
			if err == nil && q.Key() != "" && q.Key() != key {
				err = misuse("the answer %q asks a question with another key, %q", key, q.Key())
			}
			return q, err
		},
		read: func(c *mrtr.Call, q mrtr.AnyQuestion) (any, bool) {
			v, ok := mrtr.Answer(c, q.(mrtr.Question[T]))
			return v, ok
		},
	}}
}

// At is a call whose handler is given its answers.
type At[In any] struct {
	Call *mrtr.Call
	In   In

	asked  map[*answer[In]]mrtr.AnyQuestion // by the functions that have run in this round
	values map[*answer[In]]any
}

// Of reads the answer in a handler of [All], which has to name it, or an answer that depends on it.
func (a Answer[In, T]) Of(at *At[In]) T {
	v, ok := at.values[a.answer]
	switch {
	case a.answer == nil:
		panic(misuse("the zero Answer is read: make it with Question"))
	case !ok:
		panic(misuse("the handler does not name the answer %q, and reads it", a.key))
	}
	own, _ := v.(T) // nil where T is an interface
	return own
}

// resolve makes the questions that can be made, and returns those that have no answer.
func (at *At[In]) resolve(ctx context.Context, p *mrtr.Pass, order []*answer[In]) (open []mrtr.AnyQuestion, _ error) {
	for _, a := range order {
		if slices.ContainsFunc(a.after, func(before *answer[In]) bool { _, known := at.values[before]; return !known }) {
			continue
		}
		q, ok := at.asked[a]
		if !ok {
			p.Enter(a.key)
			var err error
			if q, err = a.ask(ctx, at); err != nil {
				return nil, err
			}
			at.asked[a] = q
		}
		if value, ok := a.read(at.Call, q); ok {
			at.values[a] = value
		} else {
			open = append(open, q)
		}
	}
	return open, nil
}

// ordered are the answers of a handler with all that they depend on, each after those.
func ordered[In any](wanted ...*answer[In]) (order []*answer[In]) {
	var visit func(a *answer[In])
	visit = func(a *answer[In]) {
		if slices.Contains(order, a) {
			return
		}
		for _, before := range a.after {
			visit(before)
		}
		if slices.ContainsFunc(order, func(other *answer[In]) bool { return other.key == a.key }) {
			panic(misuse("key %q stands for two answers that a handler is given: each needs a key of its own", a.key))
		}
		order = append(order, a)
	}
	for _, a := range wanted {
		if a == nil {
			panic(misuse("a handler is given the zero Answer: make it with Question"))
		}
		visit(a)
	}
	return order
}

// Func is a handler with one answer, and Func2 one with two.
type (
	Func[In, A, Out any]     func(ctx context.Context, c *mrtr.Call, in In, a A) (Out, error)
	Func2[In, A, B, Out any] func(ctx context.Context, c *mrtr.Call, in In, a A, b B) (Out, error)
)

// Handler makes a style of a handler that needs one answer, and enters it once, when that is there. A
// decline ends the call, unless the question is a Confirm, Optional, Reply or ElicitRaw. The handler's effects happen after the last
// question.
func Handler[In, Out, A any](a Answer[In, A], h Func[In, A, Out]) mrtr.Style[In, Out] {
	return style(h != nil, func(ctx context.Context, at *At[In]) (Out, error) { return h(ctx, at.Call, at.In, a.Of(at)) }, a.answer)
}

// Handler2 is [Handler] with two answers.
func Handler2[In, Out, A, B any](a Answer[In, A], b Answer[In, B], h Func2[In, A, B, Out]) mrtr.Style[In, Out] {
	return style(h != nil, func(ctx context.Context, at *At[In]) (Out, error) {
		return h(ctx, at.Call, at.In, a.Of(at), b.Of(at))
	}, a.answer, b.answer)
}

// Any is an [Answer] of any type.
type Any[In any] interface{ of() *answer[In] }

func (a Answer[In, T]) of() *answer[In] { return a.answer }

// All is [Handler] with any number of answers, which the handler reads with [Answer.Of].
func All[In, Out any](h func(ctx context.Context, at *At[In]) (Out, error), answers ...Any[In]) mrtr.Style[In, Out] {
	all := make([]*answer[In], len(answers))
	for i, a := range answers {
		if a != nil {
			all[i] = a.of()
		}
	}
	return style(h != nil, h, all...)
}

func style[In, Out any](enters bool, h func(ctx context.Context, at *At[In]) (Out, error), wanted ...*answer[In]) mrtr.Style[In, Out] {
	order := ordered(wanted...)
	if !enters {
		return mrtr.Style[In, Out]{}
	}
	return mrtr.Style[In, Out]{Print: "guards", Replays: true, Enter: func(ctx context.Context, p *mrtr.Pass, in In) (_ *mrtr.IncompleteResult, out Out, _ error) {
		asked, ok := (*p.Scratch()).(map[*answer[In]]mrtr.AnyQuestion)
		if !ok {
			asked = map[*answer[In]]mrtr.AnyQuestion{}
			*p.Scratch() = asked
		}
		at := &At[In]{Call: p.Call(), In: in, asked: asked, values: map[*answer[In]]any{}}
		open, err := at.resolve(ctx, p, order)
		switch {
		case err != nil:
			return nil, out, err
		case len(open) > 0:
			return mrtr.Need(open...), out, nil
		}
		p.Enter("")
		out, err = h(ctx, at)
		return nil, out, err
	}}
}

func misuse(format string, args ...any) error { return usage.New("mrtr", format, args...) }
