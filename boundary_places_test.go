package sdk_test

import (
	"context"
	"errors"
	"runtime"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

type (
	boundedIn  struct{}
	boundedOut struct {
		Units string `json:"units"`
	}
	boundedStyle = mrtr.Style[boundedIn, any]
)

// boundedPlaces are the places where the engine calls an author's code, which may
// panic or exit. Each makes a style that asks for the units and calls there at its
// place.
var boundedPlaces = []struct {
	name   string
	style  func(there func()) boundedStyle
	effect string // as the error reports it
}{
	{"guarded, above the guard", func(there func()) boundedStyle {
		return boundedGuarded(func(context.Context, *mrtr.Call) error { there(); return nil }, nil)
	}, "unknown"},
	{"guarded, below the guard", func(there func()) boundedStyle {
		return boundedGuarded(nil, func(context.Context, *mrtr.Call) error { there(); return nil })
	}, "unknown"},
	{"guarded, inside Once", func(there func()) boundedStyle { return boundedGuarded(boundedOnce(there), nil) }, "unknown"},
	{"guarded, after Once", func(there func()) boundedStyle {
		return boundedGuarded(boundedOnce(func() {}), func(context.Context, *mrtr.Call) error { there(); return nil })
	}, "applied"},
	{"guarded, OnComplete", func(there func()) boundedStyle {
		return boundedGuarded(nil, func(_ context.Context, c *mrtr.Call) error {
			c.OnComplete(func(context.Context) { there() })
			return nil
		})
	}, "unknown"},
	{"coroutine, before the question", func(there func()) boundedStyle {
		return mrtr.Coroutine(boundedLinear(func(context.Context, *mrtr.Call) error { there(); return nil }, nil))
	}, "unknown"},
	{"coroutine, after the question", func(there func()) boundedStyle {
		return mrtr.Coroutine(boundedLinear(nil, func(context.Context, *mrtr.Call) error { there(); return nil }))
	}, "unknown"},
	{"coroutine, inside Once", func(there func()) boundedStyle { return mrtr.Coroutine(boundedLinear(boundedOnce(there), nil)) }, "unknown"},
	{"coroutine, after Once", func(there func()) boundedStyle {
		return mrtr.Coroutine(boundedLinear(boundedOnce(func() {}), func(context.Context, *mrtr.Call) error { there(); return nil }))
	}, "applied"},
	{"journal, before the question", func(there func()) boundedStyle {
		return mrtr.Journal(boundedLinear(func(context.Context, *mrtr.Call) error { there(); return nil }, nil))
	}, "unknown"},
	{"journal, after the question", func(there func()) boundedStyle {
		return mrtr.Journal(boundedLinear(nil, func(context.Context, *mrtr.Call) error { there(); return nil }))
	}, "unknown"},
	{"journal, inside Once", func(there func()) boundedStyle { return mrtr.Journal(boundedLinear(boundedOnce(there), nil)) }, "unknown"},
	{"journal, after Once", func(there func()) boundedStyle {
		return mrtr.Journal(boundedLinear(boundedOnce(func() {}), func(context.Context, *mrtr.Call) error { there(); return nil }))
	}, "applied"},
	{"journal, OnComplete", func(there func()) boundedStyle {
		return mrtr.Journal(boundedLinear(nil, func(_ context.Context, c *mrtr.Call) error {
			c.OnComplete(func(context.Context) { there() })
			return nil
		}))
	}, "unknown"},
	{"resumable, after the question", func(there func()) boundedStyle {
		return mrtr.Resumable(boundedLinear(nil, func(context.Context, *mrtr.Call) error { there(); return nil }))
	}, "unknown"},
	{"steps, making a question", func(there func()) boundedStyle { return boundedSteps(there, nil, nil) }, "unknown"},
	{"steps, a step that does", func(there func()) boundedStyle { return boundedSteps(nil, there, nil) }, "unknown"},
	{"steps, the end", func(there func()) boundedStyle { return boundedSteps(nil, nil, there) }, "applied"},
	{"the output's MarshalJSON", func(there func()) boundedStyle {
		return mrtr.Native(func(_ context.Context, c *mrtr.Call, _ boundedIn) (*mrtr.IncompleteResult, any, error) {
			if _, ok := mrtr.Answer(c, options.Units); !ok {
				return mrtr.Need(options.Units), nil, nil
			}
			return nil, boundedMarshaler(there), nil
		})
	}, "unknown"},
}

// boundedWays are the ways in which code ends early.
var boundedWays = map[string]func(){
	"panic":          func() { panic("boom") },
	"panic of error": func() { panic(errors.New("boom")) },
	"Goexit":         runtime.Goexit,
}

type boundedMarshaler func()

func (m boundedMarshaler) MarshalJSON() ([]byte, error) { m(); return []byte(`{}`), nil }

func boundedOnce(f func()) func(context.Context, *mrtr.Call) error {
	return func(ctx context.Context, c *mrtr.Call) error {
		_, err := mrtr.Once(ctx, c, "effect", func(context.Context, string) (bool, error) { f(); return true, nil })
		return err
	}
}

func boundedGuarded(above, below func(context.Context, *mrtr.Call) error) boundedStyle {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ boundedIn) (*mrtr.IncompleteResult, any, error) {
		if above != nil {
			if err := above(ctx, c); err != nil {
				return nil, nil, err
			}
		}
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), nil, nil
		}
		if below != nil {
			if err := below(ctx, c); err != nil {
				return nil, nil, err
			}
		}
		return nil, boundedOut{units}, nil
	})
}

func boundedLinear(before, after func(context.Context, *mrtr.Call) error) mrtr.LinearFunc[boundedIn, any] {
	return func(ctx context.Context, c *mrtr.Call, _ boundedIn) (any, error) {
		if before != nil {
			if err := before(ctx, c); err != nil {
				return nil, err
			}
		}
		units, err := mrtr.Ask(ctx, c, options.Units)
		if err == nil && after != nil {
			err = after(ctx, c)
		}
		return boundedOut{units}, err
	}
}

func boundedSteps(asking, doing, ending func()) boundedStyle {
	perhaps := func(f func()) {
		if f != nil {
			f()
		}
	}
	var b mrtr.Steps[boundedIn, any]
	units := mrtr.AskStep(&b, "units", func(context.Context, *mrtr.At[boundedIn]) (mrtr.Question[string], error) {
		perhaps(asking)
		return options.Units, nil
	})
	mrtr.DoStep(&b, "effect", func(context.Context, *mrtr.At[boundedIn], string) (bool, error) {
		perhaps(doing)
		return true, nil
	})
	b.End(func(_ context.Context, at *mrtr.At[boundedIn]) (any, error) {
		perhaps(ending)
		return boundedOut{units.Of(at)}, nil
	})
	return b.MustBuild()
}
