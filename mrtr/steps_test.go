package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// A list with all that a list can have. A step runs in one round only, on
// whichever instance; each step sees the values before it, typed.
func TestStepsRunOnce(t *testing.T) {
	var did deeds
	build := func() tripStyle {
		var list tripSteps
		quote := steps.Do(&list, "quote", does("quote", &did, 40))
		place := steps.Ask(&list, "place", func(ctx context.Context, at *tripAt) (mrtr.Question[string], error) {
			require.Equal(t, 40, quote.Of(at))
			return asks("place", &did)(ctx, at)
		})
		seat := steps.Ask(&list, "seat", func(context.Context, *tripAt) (mrtr.Question[ticket], error) {
			return mrtr.Elicit[ticket]("seat", "Which seat?"), nil
		}).Together()
		class := steps.Ask(&list, "class", func(context.Context, *tripAt) (mrtr.Question[int], error) {
			did.note("question class")
			return mrtr.Known(2), nil
		}).Together()
		book := steps.Do(&list, "book", func(ctx context.Context, at *tripAt, idem string) (ticket, error) {
			require.Regexp(t, "^"+at.Call.ID()+"/[A-Za-z0-9_-]{12}/book$", idem)
			did.note("do book")
			return ticket{Seat: place.Of(at) + seat.Of(at).Seat, Row: class.Of(at)}, nil
		})
		sure := steps.Ask(&list, "sure", func(context.Context, *tripAt) (mrtr.Question[bool], error) {
			return mrtr.Confirm("sure", "Sure?"), nil
		})
		list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
			did.note("end")
			return tripOut{Plan: fmt.Sprint(quote.Of(at), place.Of(at), seat.Of(at), class.Of(at), book.Of(at), sure.Of(at), at.In.Who)}, nil
		})
		return mustBuild(t, &list)
	}
	instance := func() *tripTool { return newTrip(newTripRuntime(t, nil), build(), "") }

	first := instance().begin()
	require.NoError(t, first.err)
	require.Equal(t, []string{"place", "seat"}, first.asks, "asked at once, without what is known")
	seat := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "A", "row": 3}}
	second := instance().round(t.Context(), "", first.state, mcp.InputResponseMap{"place": accept("place", "Porto"), "seat": seat})
	require.Equal(t, []string{"sure"}, second.asks, "%v", second.err)
	last := instance().round(t.Context(), "", second.state, declining(second))
	require.Equal(t, tripReply{plan: "40Porto{A 3} 2 {PortoA 2} false"}, last)
	for _, what := range []string{"do quote", "do book", "end", "question place", "question class"} {
		require.Equal(t, 1, did.count(what), what)
	}
}

// A second question of the same list: steps before it do not run again, and
// a question asked again for want of an answer enters no step.
func TestStepsEnterOnlyTheNextOne(t *testing.T) {
	var did deeds
	var log recorder
	rt := newTripRuntime(t, &mrtr.Options{Listener: observe.With(&log)})
	var list tripSteps
	steps.Do(&list, "one", does("one", &did, 1))
	steps.Ask(&list, "q", asks("q", &did))
	steps.Do(&list, "two", does("two", &did, 2))
	steps.Ask(&list, "r", asks("r", &did))
	list.End(ends("done"))
	tool := newTrip(rt, mustBuild(t, &list), "")
	asked := tool.begin()
	asked = tool.round(t.Context(), "", asked.state, nil)
	asked = tool.answer(asked, "x")
	require.Equal(t, "done", tool.answer(asked, "y").plan)
	var entered []string
	for _, e := range log.of(observe.HandlerEntered) {
		entered = append(entered, e.Handler)
	}
	require.Equal(t, []string{"one", "q", "two", "r", "end"}, entered)
	require.Zero(t, rt.Stats().Held, "steps hold nothing")
}

func TestStepsSkip(t *testing.T) {
	var did deeds
	var list tripSteps
	q := steps.Ask(&list, "q", func(context.Context, *tripAt) (mrtr.Question[string], error) {
		did.note("q")
		return mrtr.Question[string]{}, mrtr.ErrSkip
	})
	d := steps.Do(&list, "d", func(context.Context, *tripAt, string) (*ticket, error) {
		did.note("d")
		return nil, fmt.Errorf("nothing to do: %w", mrtr.ErrSkip)
	})
	r := steps.Ask(&list, "r", asks("r", &did))
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
		require.True(t, q.Skipped(at))
		require.True(t, d.Skipped(at))
		require.False(t, r.Skipped(at))
		require.Empty(t, q.Of(at))
		require.Nil(t, d.Of(at))
		return tripOut{Plan: r.Of(at)}, nil
	})
	last, rounds := serveTrip(t, mustBuild(t, &list)).run()
	require.NoError(t, last.err)
	require.Equal(t, 2, rounds)
	require.Equal(t, "r", last.plan)
	require.Equal(t, 1, did.count("q"), "a step that was skipped is not asked again whether it is")
	require.Equal(t, 1, did.count("d"))
}

// A value may be nothing at all, and has happened all the same.
func TestStepsRememberNothingAsAValue(t *testing.T) {
	var did deeds
	var list tripSteps
	nothing := steps.Do(&list, "nothing", does[any]("nothing", &did, nil))
	pointer := steps.Do(&list, "pointer", does[*ticket]("pointer", &did, nil))
	steps.Ask(&list, "q", asks("q", &did))
	maybe := steps.Ask(&list, "maybe", func(context.Context, *tripAt) (mrtr.Question[*string], error) {
		return mrtr.Optional(text("maybe")), nil
	})
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
		require.Nil(t, nothing.Of(at))
		require.Nil(t, pointer.Of(at))
		require.Nil(t, maybe.Of(at))
		return tripOut{Plan: "done"}, nil
	})
	tool := serveTrip(t, mustBuild(t, &list))
	asked := tool.answer(tool.begin(), "x")
	last := tool.round(t.Context(), "", asked.state, declining(asked))
	require.NoError(t, last.err)
	require.Equal(t, 1, did.count("do nothing"))
	require.Equal(t, 1, did.count("do pointer"))
}

// A Once inside a step is an effect of its own, also under the step's key.
func TestStepsAndOnceDoNotMix(t *testing.T) {
	var did deeds
	var list tripSteps
	var idems []string
	steps.Do(&list, "first", func(ctx context.Context, at *tripAt, _ string) (string, error) {
		return mrtr.Once(ctx, at.Call, "book", func(_ context.Context, idem string) (string, error) {
			idems = append(idems, idem)
			return "of the Once", nil
		})
	})
	steps.Ask(&list, "q", asks("q", &did))
	book := steps.Do(&list, "book", func(_ context.Context, _ *tripAt, idem string) (string, error) {
		idems = append(idems, idem)
		return "of the step", nil
	})
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) { return tripOut{Plan: book.Of(at)}, nil })
	last, _ := serveTrip(t, mustBuild(t, &list)).run()
	require.Equal(t, "of the step", last.plan)
	require.Len(t, idems, 2)
	require.NotEqual(t, idems[0], idems[1])
}

func TestStepsReadOutOfOrder(t *testing.T) {
	var did deeds
	var other tripSteps
	const unknown = ` Whether "now" was done is unknown: do not call the tool again without checking.`
	stranger := steps.Do(&other, "stranger", does("stranger", &did, 1))
	tests := map[string]struct {
		read func(at *tripAt, later steps.Step[string])
		want string
	}{
		"of a later step":     {func(at *tripAt, later steps.Step[string]) { later.Of(at) }, `mrtr: step "later" is read before it happened.` + unknown},
		"of another list":     {func(at *tripAt, _ steps.Step[string]) { stranger.Of(at) }, `mrtr: step "stranger" is not one of this list.` + unknown},
		"skipped, of another": {func(at *tripAt, _ steps.Step[string]) { stranger.Skipped(at) }, `mrtr: step "stranger" is not one of this list.` + unknown},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list tripSteps
			var later steps.Step[string]
			steps.Do(&list, "now", func(_ context.Context, at *tripAt, _ string) (int, error) {
				require.False(t, later.Skipped(at), "what has not happened was not skipped")
				test.read(at, later)
				return 1, nil
			})
			later = steps.Ask(&list, "later", asks("later", &did))
			list.End(ends("done"))
			last := serveTrip(t, mustBuild(t, &list)).begin()
			misuse(t, last.err)
			require.EqualError(t, last.err, test.want)
		})
	}
}

func TestStepsFail(t *testing.T) {
	full := errors.New("the train is full")
	var did deeds
	tests := map[string]struct {
		add     func(list *tripSteps)
		want    string
		applied bool // whether the error says that an effect has happened
	}{
		"a doing step": {func(list *tripSteps) {
			steps.Do(list, "x", func(context.Context, *tripAt, string) (int, error) { return 0, full })
		}, "the train is full", false},
		"a doing step after another": {func(list *tripSteps) {
			steps.Do(list, "w", does("w", &did, 1))
			steps.Do(list, "x", func(context.Context, *tripAt, string) (int, error) { return 0, full })
		}, "the train is full", true},
		"an asking step": {func(list *tripSteps) {
			steps.Ask(list, "x", func(context.Context, *tripAt) (mrtr.Question[string], error) { return text("x"), full })
		}, "the train is full", false},
		"a wrong question": {func(list *tripSteps) {
			steps.Ask(list, "x", func(context.Context, *tripAt) (mrtr.Question[string], error) {
				return mrtr.Elicit[string]("x", ""), nil
			})
		}, `mrtr: question "x"`, false},
		"a question with another key": {func(list *tripSteps) {
			steps.Ask(list, "x", func(context.Context, *tripAt) (mrtr.Question[string], error) { return text("y"), nil })
		}, `mrtr: step "x" asks a question with another key, "y"`, false},
		"a value that cannot be kept": {func(list *tripSteps) {
			steps.Do(list, "x", does("x", &did, make(chan int)))
		}, `mrtr: effect "x" ran, but its value cannot be remembered: json: unsupported type: chan int`, true},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list tripSteps
			test.add(&list)
			list.End(ends("done"))
			last := serveTrip(t, mustBuild(t, &list)).begin()
			require.ErrorContains(t, last.err, test.want)
			require.Equal(t, test.applied, effectOf(last.err) != "")
		})
	}
}

// Two versions of a list share their keys, and notice one another.
func TestStepsNoticeAChangedList(t *testing.T) {
	var did deeds
	original := func(list *tripSteps) {
		steps.Ask(list, "q", asks("q", &did))
		steps.Do(list, "d", does("d", &did, 1))
	}
	tests := map[string]struct {
		list func(list *tripSteps)
		want string
	}{
		"unchanged": {list: original},
		"a step renamed": {func(list *tripSteps) {
			steps.Ask(list, "q", asks("q", &did))
			steps.Do(list, "e", does("e", &did, 1))
		}, "its list of steps"},
		"a step added":   {func(list *tripSteps) { original(list); steps.Do(list, "e", does("e", &did, 1)) }, ""},
		"a step removed": {func(list *tripSteps) { steps.Ask(list, "q", asks("q", &did)) }, "its list of steps"},
		"another order": {func(list *tripSteps) {
			steps.Do(list, "d", does("d", &did, 1))
			steps.Ask(list, "q", asks("q", &did))
		}, `step "d" now comes before steps that were taken`},
		"another type": {func(list *tripSteps) {
			steps.Ask(list, "q", asks("q", &did))
			steps.Do(list, "d", does("d", &did, "1"))
		}, "its list of steps"},
		"another kind": {func(list *tripSteps) {
			steps.Ask(list, "q", asks("q", &did))
			steps.Ask(list, "d", asks("d", &did))
		}, "its list of steps"},
		"asked at once": {func(list *tripSteps) {
			steps.Ask(list, "q", asks("q", &did))
			steps.Ask(list, "d", asks("d", &did)).Together()
		}, "its list of steps"},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			did = deeds{}
			var before, after tripSteps
			original(&before)
			before.End(ends("done"))
			test.list(&after)
			after.End(ends("done"))
			asked := newTrip(newTripRuntime(t, nil), mustBuild(t, &before), "v1").begin()
			last := newTrip(newTripRuntime(t, nil), mustBuild(t, &after), "v2").answer(asked, "x")
			if test.want == "" {
				require.NoError(t, last.err)
				return
			}
			require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Detail: test.want, Replaced: true}, last.err)
			require.Zero(t, did.count("do d"))
			require.Zero(t, did.count("do e"))
		})
	}
}

func TestStepsBuildRefuses(t *testing.T) {
	var did deeds
	tests := map[string]struct {
		list func(list *tripSteps)
		want string
	}{
		"no end":        {func(list *tripSteps) { steps.Ask(list, "q", asks("q", &did)) }, "mrtr: steps need exactly one End"},
		"two ends":      {func(list *tripSteps) { list.End(ends("a")); list.End(ends("b")) }, "mrtr: steps need exactly one End"},
		"an end of nil": {func(list *tripSteps) { list.End(nil) }, "mrtr: steps need exactly one End"},
		"the same key": {func(list *tripSteps) {
			list.End(ends(""))
			steps.Ask(list, "q", asks("q", &did))
			steps.Do(list, "q", does("q", &did, 1))
		}, `mrtr: key "q" stands for two steps: each needs a key of its own`},
		"no key":               {func(list *tripSteps) { list.End(ends("")); steps.Ask(list, "", asks("", &did)) }, `mrtr: key "": a key has 1 to 64 characters`},
		"a wrong key":          {func(list *tripSteps) { list.End(ends("")); steps.Do(list, "a b", does("a b", &did, 1)) }, `mrtr: key "a b": only letters, digits, '_', '-' and '.' are allowed`},
		"a malformed question": {func(list *tripSteps) { list.End(ends("")); steps.Always(list, mrtr.Elicit[string]("q", "")) }, `mrtr: question "q": its message is empty`},
		"no question":          {func(list *tripSteps) { list.End(ends("")); steps.Ask[tripIn, tripOut, string](list, "q", nil) }, `mrtr: step "q" has no function`},
		"nothing to do":        {func(list *tripSteps) { list.End(ends("")); steps.Do[tripIn, tripOut, string](list, "d", nil) }, `mrtr: step "d" has no function`},
		"two sets of options": {func(list *tripSteps) {
			list.End(ends(""))
			steps.Do(list, "d", does("d", &did, 1), nil, &mrtr.EffectOptions[int]{Again: true})
		}, `mrtr: effect "d" has 2 EffectOptions: put all of them into one`},
		"along with none": {func(list *tripSteps) { list.End(ends("")); steps.Ask(list, "q", asks("q", &did)).Together() }, `mrtr: step "q" is asked together with none: put it behind an asking step`},
		"along with a doing": {func(list *tripSteps) {
			list.End(ends(""))
			steps.Do(list, "d", does("d", &did, 1))
			steps.Ask(list, "q", asks("q", &did)).Together()
		}, `mrtr: step "q" is asked together with none: put it behind an asking step`},
		"a type no form has": {func(list *tripSteps) {
			list.End(ends(""))
			steps.Ask(list, "q", func(context.Context, *tripAt) (mrtr.Question[[]int], error) { return mrtr.Question[[]int]{}, nil })
		}, `mrtr: step "q": a form cannot ask for a []int`},
		"a nested form": {func(list *tripSteps) {
			list.End(ends(""))
			steps.Ask(list, "q", func(context.Context, *tripAt) (mrtr.Question[struct{ In tripIn }], error) {
				return mrtr.Question[struct{ In tripIn }]{}, nil
			})
		}, `mrtr: step "q": a form cannot ask for a struct { In mrtr_test.tripIn }`},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list tripSteps
			test.list(&list)
			_, err := list.Build()
			misuse(t, err)
			require.EqualError(t, err, test.want)
			require.PanicsWithError(t, test.want, func() { list.MustBuild() })
		})
	}
}

// A style that was built does not change with its list.
func TestStepsAreBuiltForGood(t *testing.T) {
	var did deeds
	var list tripSteps
	steps.Do(&list, "d", does("d", &did, 1))
	list.End(ends("first"))
	style := mustBuild(t, &list)
	steps.Do(&list, "e", does("e", &did, 1))
	require.Equal(t, "first", serveTrip(t, style).begin().plan)
	require.Zero(t, did.count("do e"))
}
