package steps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

func TestMain(m *testing.M) { kit.Main(m) }

func TestStepsSkip(t *testing.T) {
	var did kit.Deeds
	var list kit.Steps
	q := steps.Ask(&list, "q", func(context.Context, *kit.At) (mrtr.Question[string], error) {
		did.Note("q")
		return mrtr.Question[string]{}, mrtr.ErrSkip
	})
	d := steps.Do(&list, "d", func(context.Context, *kit.At, string) (*kit.Ticket, error) {
		did.Note("d")
		return nil, fmt.Errorf("nothing to do: %w", mrtr.ErrSkip)
	})
	r := steps.Ask(&list, "r", kit.Asks("r", &did))
	var keys []string // of a step, and of an effect that has its name
	key := func(idem string) (bool, error) { keys = append(keys, idem); return true, nil }
	steps.Do(&list, "e", func(_ context.Context, _ *kit.At, idem string) (bool, error) { return key(idem) })
	list.End(func(ctx context.Context, at *kit.At) (kit.Out, error) {
		require.True(t, q.Skipped(at))
		require.True(t, d.Skipped(at))
		require.False(t, r.Skipped(at))
		require.Empty(t, q.Of(at))
		require.Nil(t, d.Of(at))
		_, err := mrtr.Once(ctx, at.Call, "e", func(_ context.Context, idem string) (bool, error) { return key(idem) })
		return kit.Out{Plan: r.Of(at)}, err
	})
	last, rounds := kit.ServeTrip(t, kit.Build(t, &list)).Run()
	require.NoError(t, last.Err)
	require.Equal(t, 2, rounds)
	require.Equal(t, "r", last.Plan)
	require.Equal(t, 1, did.Count("q"), "a step that was skipped is not asked again whether it is")
	require.Equal(t, 1, did.Count("d"))
	require.NotEqual(t, keys[0], keys[1])
}

func TestStepsReadOutOfOrder(t *testing.T) {
	var did kit.Deeds
	var other kit.Steps
	const unknown = ` Whether "now" was done is unknown: do not call the tool again without checking.`
	stranger := steps.Do(&other, "stranger", kit.Does("stranger", &did, 1))
	tests := map[string]struct {
		read func(at *kit.At, later steps.Step[string])
		want string
	}{
		"of a later step":     {func(at *kit.At, later steps.Step[string]) { later.Of(at) }, `mrtr: step "later" is read before it happened.` + unknown},
		"of another list":     {func(at *kit.At, _ steps.Step[string]) { stranger.Of(at) }, `mrtr: step "stranger" is not one of this list.` + unknown},
		"skipped, of another": {func(at *kit.At, _ steps.Step[string]) { stranger.Skipped(at) }, `mrtr: step "stranger" is not one of this list.` + unknown},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list kit.Steps
			var later steps.Step[string]
			steps.Do(&list, "now", func(_ context.Context, at *kit.At, _ string) (int, error) {
				require.False(t, later.Skipped(at), "what has not happened was not skipped")
				test.read(at, later)
				return 1, nil
			})
			later = steps.Ask(&list, "later", kit.Asks("later", &did))
			list.End(kit.End("done"))
			last := kit.ServeTrip(t, kit.Build(t, &list)).Begin()
			kit.Misuse(t, last.Err)
			require.EqualError(t, last.Err, test.want)
		})
	}
}

func TestStepsFail(t *testing.T) {
	full := errors.New("the train is full")
	var did kit.Deeds
	tests := map[string]struct {
		add     func(list *kit.Steps)
		want    string
		applied bool // whether the error says that an effect has happened
	}{
		"a doing step": {func(list *kit.Steps) {
			steps.Do(list, "x", func(context.Context, *kit.At, string) (int, error) { return 0, full })
		}, "the train is full", false},
		"a doing step after another": {func(list *kit.Steps) {
			steps.Do(list, "w", kit.Does("w", &did, 1))
			steps.Do(list, "x", func(context.Context, *kit.At, string) (int, error) { return 0, full })
		}, "the train is full", true},
		"an asking step": {func(list *kit.Steps) {
			steps.Ask(list, "x", func(context.Context, *kit.At) (mrtr.Question[string], error) { return kit.Text("x"), full })
		}, "the train is full", false},
		"a wrong question": {func(list *kit.Steps) {
			steps.Ask(list, "x", func(context.Context, *kit.At) (mrtr.Question[string], error) {
				return mrtr.Elicit[string]("x", ""), nil
			})
		}, `mrtr: question "x"`, false},
		"a question with another key": {func(list *kit.Steps) {
			steps.Ask(list, "x", func(context.Context, *kit.At) (mrtr.Question[string], error) { return kit.Text("y"), nil })
		}, `mrtr: step "x" asks a question with another key, "y"`, false},
		"a value that cannot be kept": {func(list *kit.Steps) {
			steps.Do(list, "x", kit.Does("x", &did, make(chan int)))
		}, `mrtr: effect "x" ran, but its value cannot be remembered: json: unsupported type: chan int`, true},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list kit.Steps
			test.add(&list)
			list.End(kit.End("done"))
			last := kit.ServeTrip(t, kit.Build(t, &list)).Begin()
			require.ErrorContains(t, last.Err, test.want)
			require.Equal(t, test.applied, report.EffectOf(last.Err) != "")
		})
	}
}

// Two versions of a list share their keys, and notice one another.
func TestStepsNoticeAChangedList(t *testing.T) {
	var did kit.Deeds
	original := func(list *kit.Steps) {
		steps.Ask(list, "q", kit.Asks("q", &did))
		steps.Do(list, "d", kit.Does("d", &did, 1))
	}
	tests := map[string]struct {
		list func(list *kit.Steps)
		want string
	}{
		"unchanged": {list: original},
		"a step renamed": {func(list *kit.Steps) {
			steps.Ask(list, "q", kit.Asks("q", &did))
			steps.Do(list, "e", kit.Does("e", &did, 1))
		}, "its list of steps"},
		"a step added":   {func(list *kit.Steps) { original(list); steps.Do(list, "e", kit.Does("e", &did, 1)) }, ""},
		"a step removed": {func(list *kit.Steps) { steps.Ask(list, "q", kit.Asks("q", &did)) }, "its list of steps"},
		"another order": {func(list *kit.Steps) {
			steps.Do(list, "d", kit.Does("d", &did, 1))
			steps.Ask(list, "q", kit.Asks("q", &did))
		}, `step "d" now comes before steps that were taken`},
		"another type": {func(list *kit.Steps) {
			steps.Ask(list, "q", kit.Asks("q", &did))
			steps.Do(list, "d", kit.Does("d", &did, "1"))
		}, "its list of steps"},
		"another kind": {func(list *kit.Steps) {
			steps.Ask(list, "q", kit.Asks("q", &did))
			steps.Ask(list, "d", kit.Asks("d", &did))
		}, "its list of steps"},
		"asked at once": {func(list *kit.Steps) {
			steps.Ask(list, "q", kit.Asks("q", &did))
			steps.Ask(list, "d", kit.Asks("d", &did)).Together()
		}, "its list of steps"},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			did = kit.Deeds{}
			var before, after kit.Steps
			original(&before)
			before.End(kit.End("done"))
			test.list(&after)
			after.End(kit.End("done"))
			asked := kit.NewTrip(kit.TripRuntime(t, nil), kit.Build(t, &before), "v1").Begin()
			last := kit.NewTrip(kit.TripRuntime(t, nil), kit.Build(t, &after), "v2").Answer(asked, "x")
			if test.want == "" {
				require.NoError(t, last.Err)
				return
			}
			require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Detail: test.want, Replaced: true}, last.Err)
			require.Zero(t, did.Count("do d"))
			require.Zero(t, did.Count("do e"))
		})
	}
}

func TestStepsBuildRefuses(t *testing.T) {
	var did kit.Deeds
	tests := map[string]struct {
		list func(list *kit.Steps)
		want string
	}{
		"no end":        {func(list *kit.Steps) { steps.Ask(list, "q", kit.Asks("q", &did)) }, "mrtr: steps need exactly one End"},
		"two ends":      {func(list *kit.Steps) { list.End(kit.End("a")); list.End(kit.End("b")) }, "mrtr: steps need exactly one End"},
		"an end of nil": {func(list *kit.Steps) { list.End(nil) }, "mrtr: steps need exactly one End"},
		"the same key": {func(list *kit.Steps) {
			list.End(kit.End(""))
			steps.Ask(list, "q", kit.Asks("q", &did))
			steps.Do(list, "q", kit.Does("q", &did, 1))
		}, `mrtr: key "q" stands for two steps: each needs a key of its own`},
		"no key":               {func(list *kit.Steps) { list.End(kit.End("")); steps.Ask(list, "", kit.Asks("", &did)) }, `mrtr: key "": a key has 1 to 64 characters`},
		"a wrong key":          {func(list *kit.Steps) { list.End(kit.End("")); steps.Do(list, "a b", kit.Does("a b", &did, 1)) }, `mrtr: key "a b": only letters, digits, '_', '-' and '.' are allowed`},
		"a malformed question": {func(list *kit.Steps) { list.End(kit.End("")); steps.Always(list, mrtr.Elicit[string]("q", "")) }, `mrtr: question "q": its message is empty`},
		"no question":          {func(list *kit.Steps) { list.End(kit.End("")); steps.Ask[kit.In, kit.Out, string](list, "q", nil) }, `mrtr: step "q" has no function`},
		"nothing to do":        {func(list *kit.Steps) { list.End(kit.End("")); steps.Do[kit.In, kit.Out, string](list, "d", nil) }, `mrtr: step "d" has no function`},
		"two sets of options": {func(list *kit.Steps) {
			list.End(kit.End(""))
			steps.Do(list, "d", kit.Does("d", &did, 1), nil, &mrtr.EffectOptions[int]{Again: true})
		}, `mrtr: effect "d" has 2 EffectOptions: put all of them into one`},
		"along with none": {func(list *kit.Steps) { list.End(kit.End("")); steps.Ask(list, "q", kit.Asks("q", &did)).Together() }, `mrtr: step "q" is asked together with none: put it behind an asking step`},
		"along with a doing": {func(list *kit.Steps) {
			list.End(kit.End(""))
			steps.Do(list, "d", kit.Does("d", &did, 1))
			steps.Ask(list, "q", kit.Asks("q", &did)).Together()
		}, `mrtr: step "q" is asked together with none: put it behind an asking step`},
		"a type no form has": {func(list *kit.Steps) {
			list.End(kit.End(""))
			steps.Ask(list, "q", func(context.Context, *kit.At) (mrtr.Question[[]int], error) { return mrtr.Question[[]int]{}, nil })
		}, `mrtr: step "q": a form cannot ask for a []int`},
		"a nested form": {func(list *kit.Steps) {
			list.End(kit.End(""))
			steps.Ask(list, "q", func(context.Context, *kit.At) (mrtr.Question[struct{ In kit.In }], error) {
				return mrtr.Question[struct{ In kit.In }]{}, nil
			})
		}, `mrtr: step "q": a form cannot ask for a struct { In kit.In }`},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list kit.Steps
			test.list(&list)
			_, err := list.Build()
			kit.Misuse(t, err)
			require.EqualError(t, err, test.want)
			require.PanicsWithError(t, test.want, func() { list.MustBuild() })
		})
	}
}

// The form of a step's value is part of the list.
func TestStepsNoticeAChangedShape(t *testing.T) {
	kit.Differs(t, "a round that ran gives its result, whichever handler is there now")
	var did kit.Deeds
	type inner struct{ Row int }
	type tree struct {
		Value    int
		Children []tree
	}
	of := func(add func(list *kit.Steps)) kit.Style {
		var list kit.Steps
		add(&list)
		steps.Always(&list, kit.Text("q"))
		list.End(kit.End("done"))
		return kit.Build(t, &list)
	}
	var shapes []kit.Style
	add := func(step func(list *kit.Steps)) { shapes = append(shapes, of(step)) }
	{
		type seat struct{ Row int }
		add(stepOf(&did, seat{1}))
	}
	{
		type seat struct {
			Row int `json:"Column"`
		}
		add(stepOf(&did, seat{1}))
	}
	{
		type seat struct{ Row, Column int }
		add(stepOf(&did, seat{1, 2}))
	}
	{
		type seat struct{ Row *int }
		add(stepOf(&did, seat{}))
	}
	{
		type seat struct{ In inner }
		add(stepOf(&did, seat{}))
	}
	{
		type inner struct{ Row float64 }
		type seat struct{ In inner }
		add(stepOf(&did, seat{}))
	}
	add(stepOf(&did, []int{}))
	add(stepOf(&did, [2]int{}))
	add(stepOf(&did, [3]int{}))
	add(stepOf(&did, map[string]int{}))
	add(stepOf(&did, map[string]any{}))
	add(stepOf(&did, tree{}))
	for i, before := range shapes {
		asked := kit.NewTrip(kit.TripRuntime(t, nil), before, "").Begin()
		require.NoError(t, asked.Err)
		for j, after := range shapes {
			last := kit.NewTrip(kit.TripRuntime(t, nil), after, "").Answer(asked, "x")
			if i == j {
				require.NoError(t, last.Err)
				continue
			}
			require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Detail: "its list of steps", Applied: []string{"d"}}, kit.Ended(t, last.Err, mrtr.Diverged, "%d read as %d", i, j))
		}
	}
}

func stepOf[T any](did *kit.Deeds, value T) func(list *kit.Steps) {
	return func(list *kit.Steps) { steps.Do(list, "d", kit.Does("d", did, value)) }
}
