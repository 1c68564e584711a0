package mrtr_test

import (
	"context"
	"fmt"
	"strings"
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
	afterBoth := mrtr.ResolveAfter2(b, afterA, "e", func(_ context.Context, _ tripIn, b, d string) (mrtr.Question[string], error) {
		return mrtr.Known(b + d), nil
	})
	f := given.Always[tripIn](text("f"))
	each := mrtr.ResolveEach("each", func(context.Context, tripIn) ([]mrtr.Question[string], error) {
		return []mrtr.Question[string]{text("each.0"), mrtr.Known("known"), text("each.2")}, nil
	})
	none := mrtr.ResolveEach("none", func(context.Context, tripIn) ([]mrtr.Question[string], error) { return nil, nil })
	afterEach := given.After(each, "last", func(_ context.Context, _ tripIn, each []string) (mrtr.Question[string], error) {
		return mrtr.Elicit[string]("last", "After "+strings.Join(each, " ")+"?"), nil
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
			mrtr.Given3(a, b, c, func(_ context.Context, _ *mrtr.Call, _ tripIn, a, b, c string) (tripOut, error) {
				entered++
				return tripOut{Plan: a + b + c}, nil
			}),
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
			"one that depends on two, and is known then",
			given.Handler(afterBoth, func(_ context.Context, _ *mrtr.Call, _ tripIn, e string) (tripOut, error) {
				entered++
				return tripOut{Plan: e}, nil
			}),
			[][]string{{"a", "b"}, {"d"}}, "xx",
		},
		{
			"five, two of them lists, and one after a list",
			given.All(func(_ context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				entered++
				return tripOut{Plan: fmt.Sprint(a.Of(c), f.Of(c), each.Of(c), len(none.Of(c)), afterEach.Of(c))}, nil
			}, a, f, each, none, afterEach),
			[][]string{{"a", "each.0", "each.2", "f"}, {"last"}}, "xx[x known x] 0x",
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
	useAll := func(context.Context, *mrtr.Call, tripIn) (tripOut, error) { return tripOut{}, nil }
	list := mrtr.ResolveEach("each", func(context.Context, tripIn) ([]question, error) { return []question{text("each.1")}, nil })
	for explanation, f := range map[string]func(){
		"two with one key":            func() { given.Handler2(one, other, use) },
		"one that depends on its key": func() { given.Handler2(one, given.After(other, "b", asks), use) },
		"a zero one":                  func() { given.Handler2(one, zero, use) },
		"a dependency on nothing":     func() { given.After(zero, "b", asks) },
		"no function":                 func() { given.Question[tripIn, string]("b", nil) },
		"a bad key": func() {
			given.Question("b c", func(context.Context, tripIn) (question, error) { return text("b"), nil })
		},
		"a key below that of a list":  func() { given.All(useAll, givenText("each.7", new(atomic.Int32)), list) },
		"a list whose keys are taken": func() { given.All(useAll, list, givenText("each.7", new(atomic.Int32))) },
		"no list of questions":        func() { mrtr.ResolveEach[tripIn, string]("b", nil) },
		"nil among all":               func() { given.All(useAll, one, nil) },
		"a question without a key":    func() { given.Always[tripIn](mrtr.Known("b")) },
		"a question that is wrong":    func() { given.Always[tripIn](text("b c")) },
		"no handler of all":           func() { mrtr.Tool(newTripRuntime(t, nil), given.All[tripIn, tripOut](nil, one), nil) },
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
		"a list with another key": {given.All(useAll, list), `"each.1"`},
		"an answer that is not named": {given.All(func(_ context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			return tripOut{Plan: one.Of(c)}, nil
		}), `"a"`},
		"the zero one is read": {given.All(func(_ context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			return tripOut{Plan: zero.Of(c)}, nil
		}), "zero Given"},
		"one is read in another style": {mrtr.Native(func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
			return nil, tripOut{Plan: one.Of(c)}, nil
		}), `"a"`},
	} {
		t.Run(explanation, func(t *testing.T) {
			require.ErrorContains(t, misuse(t, serveTrip(t, c.style).begin().err), c.want)
		})
	}
}
