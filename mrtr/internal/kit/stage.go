package kit

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

type (
	Style       = mrtr.Style[In, Out]
	LinearStyle = func(linear.Func[In, Out]) Style
)

// Stage is one run of a handler. The same code asks on it in every style but Steps.
type Stage struct {
	Ctx context.Context
	*mrtr.Call
	Guarded bool
}

type StageFunc[In, Out any] = func(s *Stage, in In) (Out, error)

// cut is the panic that ends a run early: with an error, or with a question that a
// guarded handler needs.
type cut struct {
	need *mrtr.IncompleteResult
	err  error
}

func catch(need **mrtr.IncompleteResult, err *error) {
	switch v := recover().(type) {
	case nil:
	case cut:
		*need, *err = v.need, v.err
	default:
		panic(v)
	}
}

// Need ends the run of a guarded handler with questions.
func (s *Stage) Need(questions ...mrtr.AnyQuestion) { panic(cut{need: mrtr.Need(questions...)}) }

// Ask is Ask, and in a guarded handler a guard.
func Ask[T any](s *Stage, q mrtr.Question[T]) T {
	if s.Guarded {
		v, ok := mrtr.Answer(s.Call, q)
		if !ok {
			panic(cut{need: mrtr.Need(q)})
		}
		return v
	}
	v, err := linear.Ask(s.Ctx, s.Call, q)
	return Unless(err, v)
}

// Once is Once. A failure ends the run.
func Once[T any](s *Stage, key string, f func(context.Context, string) (T, error)) T {
	v, err := mrtr.Once(s.Ctx, s.Call, key, f)
	return Unless(err, v)
}

func Unless[T any](err error, v T) T {
	if err != nil {
		panic(cut{err: err})
	}
	return v
}

func Guarded[In, Out any](body StageFunc[In, Out]) mrtr.GuardedFunc[In, Out] {
	return func(ctx context.Context, c *mrtr.Call, in In) (need *mrtr.IncompleteResult, out Out, err error) {
		defer catch(&need, &err)
		out, err = body(&Stage{ctx, c, true}, in)
		return nil, out, err
	}
}

func Linear[In, Out any](body StageFunc[In, Out]) linear.Func[In, Out] {
	return func(ctx context.Context, c *mrtr.Call, in In) (out Out, err error) {
		var none *mrtr.IncompleteResult
		defer catch(&none, &err)
		return body(&Stage{ctx, c, false}, in)
	}
}

// EveryStyle is one handler in every style but Steps, whose code differs.
func EveryStyle[In, Out any](body StageFunc[In, Out]) map[string]mrtr.Style[In, Out] {
	h := Linear(body)
	return map[string]mrtr.Style[In, Out]{
		"native": mrtr.Native(Guarded(body)), "coroutine": linear.Coroutine(h),
		"journal": linear.Journal(h), "resumable": linear.Resumable(h),
	}
}

// LinearStyles are the engines of linear code.
var LinearStyles = map[string]LinearStyle{
	"coroutine": linear.Coroutine[In, Out],
	"journal":   linear.Journal[In, Out],
	"resumable": linear.Resumable[In, Out],
}

// EachLinear runs a test once for each engine of linear code.
func EachLinear(t *testing.T, test func(t *testing.T, style LinearStyle)) {
	require.NotEmpty(t, LinearStyles)
	for name, style := range LinearStyles {
		t.Run(name, func(t *testing.T) { test(t, style) })
	}
}

type Body = func(ctx context.Context, c *mrtr.Call) (string, error)

// GuardedTrip runs body at the top of each round, and asks its questions one a round.
func GuardedTrip(body Body, keys ...string) Style {
	return mrtr.Native(Guarded(func(s *Stage, _ In) (Out, error) {
		plan, err := body(s.Ctx, s.Call)
		Unless(err, plan)
		for _, key := range keys {
			Ask(s, Text(key))
		}
		return Out{Plan: plan}, nil
	}))
}

// Around runs body at the top of each entry, with two questions below, and again after
// each of them as long as it says "later".
func Around(body Body) StageFunc[In, Out] {
	return func(s *Stage, _ In) (Out, error) {
		plan := "later"
		run := func() {
			if plan == "later" {
				said, err := body(s.Ctx, s.Call)
				plan = Unless(err, said)
			}
		}
		for _, key := range []string{"q", "r"} {
			run()
			Ask(s, Text(key))
		}
		run()
		return Out{Plan: plan}, nil
	}
}

// EachOnce runs a test once for each style in which an author writes Once.
func EachOnce(t *testing.T, test func(t *testing.T, style func(Body) Style)) {
	styles := slices.Collect(maps.Keys(EveryStyle(Around(nil))))
	require.Len(t, styles, 4)
	for _, name := range styles {
		t.Run(name, func(t *testing.T) {
			test(t, func(body Body) Style { return EveryStyle(Around(body))[name] })
		})
	}
}
