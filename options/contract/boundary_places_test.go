package contract

import (
	"context"
	"errors"
	"runtime"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/options"
)

type (
	boundedIn  struct{}
	boundedOut struct {
		Units string `json:"units"`
	}
	boundedStyle = mrtr.Style[boundedIn, any]
)

type (
	boundedPart  = func(context.Context, *mrtr.Call) error
	boundedPlace struct {
		name   string
		style  func(there func()) boundedStyle
		effect string // as the error reports it
	}
)

// boundedPlaces are the places where the engine calls an author's code, which may
// panic or exit. Each makes a style that asks for the units and calls there at its
// place.
var boundedPlaces = func() []boundedPlace {
	does := func(there func()) boundedPart {
		return func(context.Context, *mrtr.Call) error { there(); return nil }
	}
	atEnd := func(there func()) boundedPart {
		return func(_ context.Context, c *mrtr.Call) error {
			c.OnComplete(func(context.Context) { there() })
			return nil
		}
	}
	places := []boundedPlace{
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
	for style, of := range map[string]func(before, after boundedPart) boundedStyle{
		"guarded":   boundedGuarded,
		"coroutine": func(before, after boundedPart) boundedStyle { return linear.Coroutine(boundedLinear(before, after)) },
		"journal":   func(before, after boundedPart) boundedStyle { return linear.Journal(boundedLinear(before, after)) },
		"resumable": func(before, after boundedPart) boundedStyle { return linear.Resumable(boundedLinear(before, after)) },
	} {
		places = append(places,
			boundedPlace{style + ", before the question", func(there func()) boundedStyle { return of(does(there), nil) }, "unknown"},
			boundedPlace{style + ", after the question", func(there func()) boundedStyle { return of(nil, does(there)) }, "unknown"},
			boundedPlace{style + ", inside Once", func(there func()) boundedStyle { return of(boundedOnce(there), nil) }, "unknown"},
			boundedPlace{style + ", after Once", func(there func()) boundedStyle { return of(boundedOnce(func() {}), does(there)) }, "applied"},
			boundedPlace{style + ", OnComplete", func(there func()) boundedStyle { return of(nil, atEnd(there)) }, "unknown"})
	}
	return places
}()

// boundedWays are the ways in which code ends early.
var boundedWays = map[string]func(){
	"panic":          func() { panic("boom") },
	"panic of error": func() { panic(errors.New("boom")) },
	"Goexit":         runtime.Goexit,
}

type boundedMarshaler func()

func (m boundedMarshaler) MarshalJSON() ([]byte, error) { m(); return []byte(`{}`), nil }

func boundedOnce(f func()) boundedPart {
	return func(ctx context.Context, c *mrtr.Call) error {
		_, err := mrtr.Once(ctx, c, "effect", func(context.Context, string) (bool, error) { f(); return true, nil })
		return err
	}
}

func boundedGuarded(above, below boundedPart) boundedStyle {
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

func boundedLinear(before, after boundedPart) linear.Func[boundedIn, any] {
	return func(ctx context.Context, c *mrtr.Call, _ boundedIn) (any, error) {
		if before != nil {
			if err := before(ctx, c); err != nil {
				return nil, err
			}
		}
		units, err := linear.Ask(ctx, c, options.Units)
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
	var b steps.List[boundedIn, any]
	units := steps.Ask(&b, "units", func(context.Context, *steps.At[boundedIn]) (mrtr.Question[string], error) {
		perhaps(asking)
		return options.Units, nil
	})
	steps.Do(&b, "effect", func(context.Context, *steps.At[boundedIn], string) (bool, error) {
		perhaps(doing)
		return true, nil
	})
	b.End(func(_ context.Context, at *steps.At[boundedIn]) (any, error) {
		perhaps(ending)
		return boundedOut{units.Of(at)}, nil
	})
	return b.MustBuild()
}
