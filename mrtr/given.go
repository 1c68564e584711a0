package mrtr

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Given is an answer that a handler has before it is entered. Its function answers, or
// asks: with [Known], or with a question. One Given may serve any number of handlers with
// the same input.
//
//	place := mrtr.Resolve("place", func(ctx context.Context, q Query) (mrtr.Question[string], error) {
//		return whichPlace(q.Location)
//	})
//	style := mrtr.Given1(place, func(ctx context.Context, c *mrtr.Call, q Query, place string) (Report, error) {
//		return report(place), nil
//	})
type Given[In, T any] struct{ *given[In] }

// given is a Given without the type of its answer.
type given[In any] struct {
	key string
	// several is set if its questions have keys below its own.
	several bool
	after   []*given[In]
	// ask makes the questions, or has their values. The answers before it are known.
	ask func(ctx context.Context, r *resolution[In]) ([]AnyQuestion, error)
	// read returns the value, or the questions that have no answer yet.
	read func(c *Call, asked []AnyQuestion) (value any, open []AnyQuestion)
}

// Resolve is an answer that depends on the input alone. Its question goes out together
// with all others that nothing is missing for. The key is that of the question.
func Resolve[In, T any](key string, ask func(ctx context.Context, in In) (Question[T], error)) Given[In, T] {
	return resolve(key, ask != nil, func(ctx context.Context, r *resolution[In]) (Question[T], error) {
		return ask(ctx, r.in)
	})
}

// ResolveQuestion is the answer to a question that is the same in each call.
func ResolveQuestion[In, T any](q Question[T]) Given[In, T] {
	if err := q.Err(); err != nil {
		panic(err)
	}
	return Resolve(q.Key(), func(context.Context, In) (Question[T], error) { return q, nil })
}

// ResolveEach is a list of answers, one for each question that the function returns. The
// keys of the questions are KEY.0, KEY.1 and so on.
func ResolveEach[In, T any](key string, ask func(ctx context.Context, in In) ([]Question[T], error)) Given[In, []T] {
	noteAnswerType[T]()
	g := newGiven[In, []T](key, ask != nil)
	g.several = true
	g.ask = func(ctx context.Context, r *resolution[In]) ([]AnyQuestion, error) {
		questions, err := ask(ctx, r.in)
		asked := make([]AnyQuestion, len(questions))
		for i, q := range questions {
			if err == nil {
				err = givenUnder(fmt.Sprint(key, ".", i), q)
			}
			asked[i] = q
		}
		return asked, err
	}
	g.read = func(c *Call, asked []AnyQuestion) (any, []AnyQuestion) {
		answers := make([]T, len(asked))
		var open []AnyQuestion
		for i, q := range asked {
			var ok bool
			if answers[i], ok = Answer(c, q.(Question[T])); !ok {
				open = append(open, q)
			}
		}
		return &answers, open
	}
	return g
}

// ResolveAfter is an answer that depends on another one. Its function runs when that is
// known, so that its question goes out in a later round.
func ResolveAfter[In, A, T any](a Given[In, A], key string, ask func(ctx context.Context, in In, a A) (Question[T], error)) Given[In, T] {
	return resolve(key, ask != nil, func(ctx context.Context, r *resolution[In]) (Question[T], error) {
		return ask(ctx, r.in, a.in(r))
	}, a.given)
}

// ResolveAfter2 is an answer that depends on two others.
func ResolveAfter2[In, A, B, T any](a Given[In, A], b Given[In, B], key string, ask func(ctx context.Context, in In, a A, b B) (Question[T], error)) Given[In, T] {
	return resolve(key, ask != nil, func(ctx context.Context, r *resolution[In]) (Question[T], error) {
		return ask(ctx, r.in, a.in(r), b.in(r))
	}, a.given, b.given)
}

func resolve[In, T any](key string, asks bool, ask func(ctx context.Context, r *resolution[In]) (Question[T], error), after ...*given[In]) Given[In, T] {
	noteAnswerType[T]() // so that answers are judged by it before the first question is made
	g := newGiven[In, T](key, asks, after...)
	g.ask = func(ctx context.Context, r *resolution[In]) ([]AnyQuestion, error) {
		q, err := ask(ctx, r)
		if err == nil {
			err = givenUnder(key, q)
		}
		return []AnyQuestion{q}, err
	}
	g.read = func(c *Call, asked []AnyQuestion) (any, []AnyQuestion) {
		v, ok := Answer(c, asked[0].(Question[T]))
		if !ok {
			return nil, asked
		}
		return &v, nil
	}
	return g
}

func newGiven[In, T any](key string, asks bool, after ...*given[In]) Given[In, T] {
	if err := checkKey(key); err != nil {
		panic(err)
	}
	if !asks {
		panic(misuse("Given %q has no function that answers or asks", key))
	}
	if slices.Contains(after, nil) {
		panic(misuse("Given %q depends on the zero Given: make that first, with Resolve", key))
	}
	return Given[In, T]{&given[In]{key: key, after: after}}
}

// givenUnder refuses a question that cannot be asked under a key.
func givenUnder[T any](key string, q Question[T]) error {
	err := q.Err()
	if err == nil && q.spec != nil && q.spec.key != key {
		err = misuse("Given %q asks a question with another key, %q", key, q.spec.key)
	}
	return err
}

// Of is the answer in a handler of [GivenAll] that names it, or one that depends on it.
func (g Given[In, T]) Of(c *Call) T {
	if c.given != nil {
		if r, ok := (*c.given).(*resolution[In]); ok && r.values[g.given] != nil {
			return g.in(r)
		}
	}
	if g.given == nil {
		panic(misuse("the zero Given has no answer: make it with Resolve"))
	}
	panic(misuse("the handler does not name Given %q, and reads it", g.key))
}

// in is the value in a round that knows it.
func (g Given[In, T]) in(r *resolution[In]) T { return *r.values[g.given].(*T) }

// resolution is how far one round has come with the answers of its handler.
type resolution[In any] struct {
	in In
	// asked has the questions of each Given whose function has run in this round.
	asked  map[*given[In]][]AnyQuestion
	values map[*given[In]]any
}

// resolutionOf is that of this round, whose handler may be entered again.
func resolutionOf[In any](c *Call, in In) *resolution[In] {
	if c.given == nil {
		c.given = new(any)
	}
	r, ok := (*c.given).(*resolution[In])
	if !ok {
		r = &resolution[In]{asked: map[*given[In]][]AnyQuestion{}, values: map[*given[In]]any{}}
		*c.given = r
	}
	r.in = in
	return r
}

// resolve makes the questions that can be made, and returns those that have no answer.
func (r *resolution[In]) resolve(ctx context.Context, c *Call, order []*given[In]) (open []AnyQuestion, err error) {
	clear(r.values)
	for _, g := range order {
		if slices.ContainsFunc(g.after, func(before *given[In]) bool { return r.values[before] == nil }) {
			continue
		}
		asked, ok := r.asked[g]
		if !ok {
			c.ledger().observe(ctx, Event{Kind: HandlerEntered, Handler: g.key})
			if asked, err = g.ask(ctx, r); err != nil {
				return nil, err
			}
			r.asked[g] = asked
		}
		value, unanswered := g.read(c, asked)
		if len(unanswered) == 0 {
			r.values[g] = value
		}
		open = append(open, unanswered...)
	}
	return open, nil
}

// ordered are the answers of a handler with all that they depend on, each after those.
func ordered[In any](wanted ...*given[In]) (order []*given[In]) {
	var visit func(g *given[In])
	visit = func(g *given[In]) {
		if slices.Contains(order, g) {
			return
		}
		for _, before := range g.after {
			visit(before)
		}
		if slices.ContainsFunc(order, g.sharesAKeyWith) {
			panic(twice(g.key, "answers that a handler is given"))
		}
		order = append(order, g)
	}
	for _, g := range wanted {
		if g == nil {
			panic(misuse("a handler is given the zero Given: make it with Resolve"))
		}
		visit(g)
	}
	return order
}

func (g *given[In]) sharesAKeyWith(other *given[In]) bool {
	return g.key == other.key || g.several && strings.HasPrefix(other.key, g.key+".") ||
		other.several && strings.HasPrefix(g.key, other.key+".")
}

// Given1 names the answer that a handler needs, and enters it once, when that is there.
//
//   - Questions that nothing is missing for go out in one round. A function that has run is
//     not run again in its round, and runs again in the next one: it asks and answers, and
//     has no effect.
//   - A decline ends the call, unless the question is lenient ([Confirm], [Optional]).
//   - The handler's effects happen after the last question. Where its request may come
//     twice they belong in [Once], as everywhere.
//
// It panics, as [Tool] does, on a zero [Given], and on two that share a key.
func Given1[In, Out, A any](a Given[In, A], h func(ctx context.Context, c *Call, in In, a A) (Out, error)) Style[In, Out] {
	return givenAll(h != nil, func(ctx context.Context, c *Call, r *resolution[In]) (Out, error) {
		return h(ctx, c, r.in, a.in(r))
	}, a.given)
}

// Given2 is [Given1] with two answers.
func Given2[In, Out, A, B any](a Given[In, A], b Given[In, B], h func(ctx context.Context, c *Call, in In, a A, b B) (Out, error)) Style[In, Out] {
	return givenAll(h != nil, func(ctx context.Context, c *Call, r *resolution[In]) (Out, error) {
		return h(ctx, c, r.in, a.in(r), b.in(r))
	}, a.given, b.given)
}

// Given3 is [Given1] with three answers.
func Given3[In, Out, A, B, C any](a Given[In, A], b Given[In, B], d Given[In, C], h func(ctx context.Context, c *Call, in In, a A, b B, d C) (Out, error)) Style[In, Out] {
	return givenAll(h != nil, func(ctx context.Context, c *Call, r *resolution[In]) (Out, error) {
		return h(ctx, c, r.in, a.in(r), b.in(r), d.in(r))
	}, a.given, b.given, d.given)
}

// GivenAll is [Given1] with any number of answers, which the handler reads with
// [Given.Of].
func GivenAll[In, Out any](h func(ctx context.Context, c *Call, in In) (Out, error), wanted ...AnyGiven[In]) Style[In, Out] {
	all := make([]*given[In], len(wanted))
	for i, w := range wanted {
		if w != nil {
			all[i] = w.named()
		}
	}
	return givenAll(h != nil, func(ctx context.Context, c *Call, r *resolution[In]) (Out, error) {
		return h(ctx, c, r.in)
	}, all...)
}

// AnyGiven is a [Given] of any type, for a handler of In.
type AnyGiven[In any] interface{ named() *given[In] }

func (g Given[In, T]) named() *given[In] { return g.given }

func givenAll[In, Out any](enters bool, h func(ctx context.Context, c *Call, r *resolution[In]) (Out, error), wanted ...*given[In]) Style[In, Out] {
	order := ordered(wanted...)
	if !enters {
		return Style[In, Out]{}
	}
	return Style[In, Out]{enter: func(ctx context.Context, c *Call, in In) (_ *IncompleteResult, out Out, err error) {
		if err := c.useStyle(guardedStyle); err != nil {
			return nil, out, err
		}
		r := resolutionOf(c, in)
		open, err := r.resolve(ctx, c, order)
		if err != nil {
			return nil, out, err
		}
		if len(open) > 0 {
			return Need(open...), out, nil
		}
		c.ledger().observe(ctx, Event{Kind: HandlerEntered})
		out, err = h(ctx, c, r)
		return nil, out, err
	}}
}
