package given_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// givenText is an answer that depends on nothing, and counts how often it is asked for.
func givenText(key string, asked *atomic.Int32) given.Answer[kit.In, string] {
	return given.Question(key, func(context.Context, kit.In) (mrtr.Question[string], error) {
		asked.Add(1)
		return kit.Text(key), nil
	})
}

// A handler is entered once, with all of its answers, after the fewest rounds that their
// dependencies allow.
func TestGivenTakesTheFewestRounds(t *testing.T) {
	var asked atomic.Int32
	a, b, c := givenText("a", &asked), givenText("b", &asked), givenText("c", &asked)
	afterA := given.After(a, "d", func(_ context.Context, _ kit.In, a string) (mrtr.Question[string], error) {
		return mrtr.Elicit[string]("d", "After "+a+"?"), nil
	})
	f := given.Always[kit.In](kit.Text("f"))
	known := given.After(afterA, "e", func(_ context.Context, _ kit.In, d string) (mrtr.Question[string], error) {
		return mrtr.Known(d + d), nil
	})
	entered := 0
	for _, c := range []struct {
		explanation string
		style       kit.Style
		asks        [][]string
		plan        string
	}{
		{
			"three questions that nothing is missing for",
			given.All(func(_ context.Context, at *given.At[kit.In]) (kit.Out, error) {
				entered++
				return kit.Out{Plan: a.Of(at) + b.Of(at) + c.Of(at)}, nil
			}, a, b, c),
			[][]string{{"a", "b", "c"}}, "xxx",
		},
		{
			"one that depends on another",
			given.Handler2(afterA, b, func(_ context.Context, _ *mrtr.Call, _ kit.In, d, b string) (kit.Out, error) {
				entered++
				return kit.Out{Plan: d + b}, nil
			}),
			[][]string{{"a", "b"}, {"d"}}, "xx",
		},
		{
			"one that depends on that, and is known then",
			given.All(func(_ context.Context, at *given.At[kit.In]) (kit.Out, error) {
				entered++
				return kit.Out{Plan: known.Of(at) + f.Of(at) + a.Of(at) + at.In.Who}, nil
			}, known, f),
			[][]string{{"a", "f"}, {"d"}}, "xxxx",
		},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			entered = 0
			tool := kit.ServeTrip(t, c.style)
			reply := tool.Begin()
			for _, asks := range c.asks {
				require.Equal(t, asks, reply.Asks)
				require.Zero(t, entered)
				reply = tool.Answer(reply, "x")
			}
			require.Equal(t, kit.Reply{Plan: c.plan}, reply)
			require.Equal(t, 1, entered)
		})
	}
}

// The function of a question runs once in a round, also where the handler is entered twice
// in it, because a default stands in for an answer.
func TestGivenAsksOnceInARound(t *testing.T) {
	var asked atomic.Int32
	usual := given.Question("usual", func(context.Context, kit.In) (mrtr.Question[string], error) {
		asked.Add(1)
		return kit.Text("usual").Default("the usual"), nil
	})
	style := given.Handler(usual, func(_ context.Context, _ *mrtr.Call, _ kit.In, usual string) (kit.Out, error) {
		return kit.Out{Plan: usual}, nil
	})
	mute := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Unaskable: mrtr.UnaskableDefaults}), style, "")
	mute.Mute = true
	require.Equal(t, kit.Reply{Plan: "the usual"}, mute.Begin())
	require.Equal(t, int32(1), asked.Load())

	asked.Store(0)
	tool := kit.ServeTrip(t, style)
	require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(tool.Begin(), "window"))
	require.Equal(t, int32(2), asked.Load(), "once in each of two rounds")
}

// A mistake in the answers that a handler is given is found where it is made.
func TestGivenIsChecked(t *testing.T) {
	one, other := givenText("a", new(atomic.Int32)), givenText("a", new(atomic.Int32))
	var zero given.Answer[kit.In, string]
	type question = mrtr.Question[string]
	asks := func(context.Context, kit.In, string) (question, error) { return kit.Text("b"), nil }
	use := func(context.Context, *mrtr.Call, kit.In, string, string) (kit.Out, error) { return kit.Out{}, nil }
	useAll := func(context.Context, *given.At[kit.In]) (kit.Out, error) { return kit.Out{}, nil }
	for explanation, f := range map[string]func(){
		"two with one key":            func() { given.Handler2(one, other, use) },
		"one that depends on its key": func() { given.Handler2(one, given.After(other, "b", asks), use) },
		"a zero one":                  func() { given.Handler2(one, zero, use) },
		"a dependency on nothing":     func() { given.After(zero, "b", asks) },
		"no function":                 func() { given.Question[kit.In, string]("b", nil) },
		"a bad key": func() {
			given.Question("b c", func(context.Context, kit.In) (question, error) { return kit.Text("b"), nil })
		},
		"nil among all":            func() { given.All(useAll, one, nil) },
		"a question without a key": func() { given.Always[kit.In](mrtr.Known("b")) },
		"a question that is wrong": func() { given.Always[kit.In](kit.Text("b c")) },
		"no handler of all":        func() { mrtr.Tool(kit.TripRuntime(t, nil), given.All[kit.In, kit.Out](nil, one), nil) },
		"no handler": func() {
			mrtr.Tool(kit.TripRuntime(t, nil), given.Handler[kit.In, kit.Out](one, nil), nil)
		},
	} {
		t.Run(explanation, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				kit.Misuse(t, err)
			}()
			f()
		})
	}
	stray := given.Question("b", func(context.Context, kit.In) (question, error) { return kit.Text("c"), nil })
	tool := kit.ServeTrip(t, given.Handler(stray, func(context.Context, *mrtr.Call, kit.In, string) (kit.Out, error) { return kit.Out{}, nil }))
	require.ErrorContains(t, kit.Misuse(t, tool.Begin().Err), `"c"`)

	for explanation, c := range map[string]struct {
		style kit.Style
		want  string
	}{
		"an answer that is not named": {given.All(func(_ context.Context, at *given.At[kit.In]) (kit.Out, error) {
			return kit.Out{Plan: one.Of(at)}, nil
		}), `"a"`},
		"the zero one is read": {given.All(func(_ context.Context, at *given.At[kit.In]) (kit.Out, error) {
			return kit.Out{Plan: zero.Of(at)}, nil
		}), "zero Answer"},
	} {
		t.Run(explanation, func(t *testing.T) {
			require.ErrorContains(t, kit.Misuse(t, kit.ServeTrip(t, c.style).Begin().Err), c.want)
		})
	}
}
