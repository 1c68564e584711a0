package mrtr_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
)

// givenText is an answer that depends on nothing, and counts how often it is asked for.
func givenText(key string, asked *atomic.Int32) given.Answer[tripIn, string] {
	return given.Question(key, func(context.Context, tripIn) (mrtr.Question[string], error) {
		asked.Add(1)
		return text(key), nil
	})
}

// A handler is entered once, with all of its answers, after the fewest rounds that their
// dependencies allow.
func TestGivenTakesTheFewestRounds(t *testing.T) {
	var asked atomic.Int32
	a, b, c := givenText("a", &asked), givenText("b", &asked), givenText("c", &asked)
	afterA := given.After(a, "d", func(_ context.Context, _ tripIn, a string) (mrtr.Question[string], error) {
		return mrtr.Elicit[string]("d", "After "+a+"?"), nil
	})
	f := given.Always[tripIn](text("f"))
	known := given.After(afterA, "e", func(_ context.Context, _ tripIn, d string) (mrtr.Question[string], error) {
		return mrtr.Known(d + d), nil
	})
	entered := 0
	for _, c := range []struct {
		explanation string
		style       tripStyle
		asks        [][]string
		plan        string
	}{
		{
			"three questions that nothing is missing for",
			given.All(func(_ context.Context, at *given.At[tripIn]) (tripOut, error) {
				entered++
				return tripOut{Plan: a.Of(at) + b.Of(at) + c.Of(at)}, nil
			}, a, b, c),
			[][]string{{"a", "b", "c"}}, "xxx",
		},
		{
			"one that depends on another",
			given.Handler2(afterA, b, func(_ context.Context, _ *mrtr.Call, _ tripIn, d, b string) (tripOut, error) {
				entered++
				return tripOut{Plan: d + b}, nil
			}),
			[][]string{{"a", "b"}, {"d"}}, "xx",
		},
		{
			"one that depends on that, and is known then",
			given.All(func(_ context.Context, at *given.At[tripIn]) (tripOut, error) {
				entered++
				return tripOut{Plan: known.Of(at) + f.Of(at) + a.Of(at) + at.In.Who}, nil
			}, known, f),
			[][]string{{"a", "f"}, {"d"}}, "xxxx",
		},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			entered = 0
			tool := serveTrip(t, c.style)
			reply := tool.begin()
			for _, asks := range c.asks {
				require.Equal(t, asks, reply.asks)
				require.Zero(t, entered)
				reply = tool.answer(reply, "x")
			}
			require.Equal(t, tripReply{plan: c.plan}, reply)
			require.Equal(t, 1, entered)
		})
	}
}

// The function of a question runs once in a round, also where the handler is entered twice
// in it, because a default stands in for an answer.
func TestGivenAsksOnceInARound(t *testing.T) {
	var asked atomic.Int32
	usual := given.Question("usual", func(context.Context, tripIn) (mrtr.Question[string], error) {
		asked.Add(1)
		return text("usual").Default("the usual"), nil
	})
	style := given.Handler(usual, func(_ context.Context, _ *mrtr.Call, _ tripIn, usual string) (tripOut, error) {
		return tripOut{Plan: usual}, nil
	})
	mute := newTrip(newTripRuntime(t, &mrtr.Options{Unaskable: mrtr.UnaskableDefaults}), style, "")
	mute.mute = true
	require.Equal(t, tripReply{plan: "the usual"}, mute.begin())
	require.Equal(t, int32(1), asked.Load())

	asked.Store(0)
	tool := serveTrip(t, style)
	require.Equal(t, tripReply{plan: "window"}, tool.answer(tool.begin(), "window"))
	require.Equal(t, int32(2), asked.Load(), "once in each of two rounds")
}

// A decline ends the call before the handler is entered, unless the question is lenient.
func TestGivenIsDeclined(t *testing.T) {
	for _, c := range []struct {
		explanation string
		style       tripStyle
		plan        string
	}{
		{"a question", given.Handler(givenText("q", new(atomic.Int32)), func(_ context.Context, _ *mrtr.Call, _ tripIn, q string) (tripOut, error) {
			return tripOut{Plan: q}, nil
		}), ""},
		{"a lenient one", given.Handler(given.Question("q", func(context.Context, tripIn) (mrtr.Question[*string], error) {
			return mrtr.Optional(text("q")), nil
		}), func(_ context.Context, _ *mrtr.Call, _ tripIn, q *string) (tripOut, error) {
			require.Nil(t, q)
			return tripOut{Plan: "without"}, nil
		}), "without"},
		{"a Confirm", given.Handler(given.Question("q", func(context.Context, tripIn) (mrtr.Question[bool], error) {
			return mrtr.Confirm("q", "Sure?"), nil
		}), func(_ context.Context, _ *mrtr.Call, _ tripIn, yes bool) (tripOut, error) {
			require.False(t, yes)
			return tripOut{Plan: "no"}, nil
		}), "no"},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			tool := serveTrip(t, c.style)
			asked := tool.begin()
			reply := tool.round(t.Context(), "", asked.state, declining(asked))
			if c.plan == "" {
				ended(t, reply.err, mrtr.Declined)
				return
			}
			require.Equal(t, tripReply{plan: c.plan}, reply)
		})
	}
}

// One Given serves many handlers at once.
func TestGivenIsShared(t *testing.T) {
	shared := givenText("seat", new(atomic.Int32))
	for range 20 {
		t.Run("a tool", func(t *testing.T) {
			t.Parallel()
			tool := serveTrip(t, given.Handler(shared, func(_ context.Context, _ *mrtr.Call, in tripIn, seat string) (tripOut, error) {
				return tripOut{Plan: seat}, nil
			}))
			require.Equal(t, tripReply{plan: "aisle"}, tool.answer(tool.begin(), "aisle"))
		})
	}
}

// A mistake in the answers that a handler is given is found where it is made.
func TestGivenIsChecked(t *testing.T) {
	one, other := givenText("a", new(atomic.Int32)), givenText("a", new(atomic.Int32))
	var zero given.Answer[tripIn, string]
	type question = mrtr.Question[string]
	asks := func(context.Context, tripIn, string) (question, error) { return text("b"), nil }
	use := func(context.Context, *mrtr.Call, tripIn, string, string) (tripOut, error) { return tripOut{}, nil }
	useAll := func(context.Context, *given.At[tripIn]) (tripOut, error) { return tripOut{}, nil }
	for explanation, f := range map[string]func(){
		"two with one key":            func() { given.Handler2(one, other, use) },
		"one that depends on its key": func() { given.Handler2(one, given.After(other, "b", asks), use) },
		"a zero one":                  func() { given.Handler2(one, zero, use) },
		"a dependency on nothing":     func() { given.After(zero, "b", asks) },
		"no function":                 func() { given.Question[tripIn, string]("b", nil) },
		"a bad key": func() {
			given.Question("b c", func(context.Context, tripIn) (question, error) { return text("b"), nil })
		},
		"nil among all":            func() { given.All(useAll, one, nil) },
		"a question without a key": func() { given.Always[tripIn](mrtr.Known("b")) },
		"a question that is wrong": func() { given.Always[tripIn](text("b c")) },
		"no handler of all":        func() { mrtr.Tool(newTripRuntime(t, nil), given.All[tripIn, tripOut](nil, one), nil) },
		"no handler": func() {
			mrtr.Tool(newTripRuntime(t, nil), given.Handler[tripIn, tripOut](one, nil), nil)
		},
	} {
		t.Run(explanation, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				misuse(t, err)
			}()
			f()
		})
	}
	stray := given.Question("b", func(context.Context, tripIn) (question, error) { return text("c"), nil })
	tool := serveTrip(t, given.Handler(stray, func(context.Context, *mrtr.Call, tripIn, string) (tripOut, error) { return tripOut{}, nil }))
	require.ErrorContains(t, misuse(t, tool.begin().err), `"c"`)

	for explanation, c := range map[string]struct {
		style tripStyle
		want  string
	}{
		"an answer that is not named": {given.All(func(_ context.Context, at *given.At[tripIn]) (tripOut, error) {
			return tripOut{Plan: one.Of(at)}, nil
		}), `"a"`},
		"the zero one is read": {given.All(func(_ context.Context, at *given.At[tripIn]) (tripOut, error) {
			return tripOut{Plan: zero.Of(at)}, nil
		}), "zero Answer"},
	} {
		t.Run(explanation, func(t *testing.T) {
			require.ErrorContains(t, misuse(t, serveTrip(t, c.style).begin().err), c.want)
		})
	}
}
