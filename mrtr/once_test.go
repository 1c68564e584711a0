package mrtr_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// An effect in Once happens once, in however many rounds it is asked for; its
// idem is the same whenever it is tried, and another in another call.
func TestOnceRunsOnce(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		idems := map[string]int{}
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems[idem]++
				return fmt.Sprint("booking ", len(idems)), nil
			})
		}))
		for call := 1; call <= 2; call++ {
			last, rounds := tool.Run()
			require.NoError(t, last.Err)
			require.Equal(t, 3, rounds)
			require.Equal(t, fmt.Sprint("booking ", call), last.Plan)
		}
		require.Len(t, idems, 2)
		for idem, times := range idems {
			require.Equal(t, 1, times)
			require.True(t, strings.HasSuffix(idem, ".book"), idem)
		}
	})
}

func TestOnceNoticesAnotherType(t *testing.T) {
	last, _ := kit.ServeTrip(t, kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		if c.Round() == 1 {
			return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "text", nil })
		}
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (int, error) { return 1, nil })
		return "", err
	}, "q")).Run()
	require.ErrorContains(t, last.Err, `mrtr: effect "book" ran, but its value is not a int`)
}

func TestOnceRefusesWrongKeys(t *testing.T) {
	keys := []string{"", "with space", "über", strings.Repeat("x", 65)}
	require.NotEmpty(t, keys)
	for _, key := range keys {
		var did kit.Deeds
		last := kit.ServeTrip(t, kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, key, did.Do("it"))
		})).Begin()
		kit.Misuse(t, last.Err, key)
		require.Zero(t, did.Count("it"))
	}
}

// A key means one thing in one entry of a handler, in every style: the mistake has one
// sentence, which names the key, and nothing is asked or done under it.
func TestOneKey(t *testing.T) {
	const forQuestions = `mrtr: key "k" stands for two questions: each needs a key of its own`
	const forEffects = `mrtr: key "k" stands for two effects: each needs a key of its own`
	worded := func(words string) mrtr.Question[string] { return mrtr.Elicit[string]("k", words) }
	read := func(c *mrtr.Call, q mrtr.Question[string]) string { v, _ := mrtr.Answer(c, q); return v }
	var did kit.Deeds
	tests := map[string]struct {
		body kit.StageFunc[kit.In, kit.Out]
		want string
	}{
		"questions in turn": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			kit.Ask(s, worded("Which seat?"))
			kit.Ask(s, worded("Which meal?"))
			did.Note("second")
			return kit.Out{}, nil
		}, forQuestions},
		"an answer read in other words": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			kit.Ask(s, worded("Which seat?"))
			kit.Ask(s, kit.Text("between"))
			meal := read(s.Call, worded("Which meal?"))
			return kit.Out{Plan: meal}, nil
		}, forQuestions},
		"looked for in other words": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			if _, ok := mrtr.Answer(s.Call, worded("Which seat?")); !ok {
				kit.Ask(s, worded("Which meal?"))
			}
			return kit.Out{}, nil
		}, forQuestions},
		"questions of one round": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			if s.Guarded {
				s.Need(worded("Which seat?"), worded("Which meal?"))
			}
			return kit.Out{}, linear.AskAll(s.Ctx, s.Call, worded("Which seat?"), worded("Which meal?"))
		}, forQuestions},
		"effects in turn": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			for range 2 {
				kit.Once(s, "k", did.Do("effect"))
			}
			did.Note("second")
			return kit.Out{}, nil
		}, forEffects},
		"effects with a question between": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			kit.Once(s, "k", did.Do("effect"))
			kit.Ask(s, kit.Text("between"))
			kit.Once(s, "k", did.Do("second"))
			return kit.Out{}, nil
		}, forEffects},
		"effects inside another": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			_, err := mrtr.Once(s.Ctx, s.Call, "outer", func(ctx context.Context, _ string) (string, error) {
				if _, err := mrtr.Once(ctx, s.Call, "k", did.Do("effect")); err != nil {
					return "", err
				}
				return mrtr.Once(ctx, s.Call, "k", did.Do("second"))
			})
			return kit.Out{}, err
		}, forEffects},
		"effects at a time": {func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			_, err := mrtr.Once(s.Ctx, s.Call, "k", func(ctx context.Context, _ string) (string, error) {
				return mrtr.Once(ctx, s.Call, "k", did.Do("second"))
			})
			return kit.Out{}, err
		}, forEffects},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		styles := kit.EveryStyle(test.body)
		var inStep kit.Steps
		steps.Do(&inStep, "step", func(ctx context.Context, at *kit.At, _ string) (string, error) {
			out, err := kit.Linear(test.body)(ctx, at.Call, kit.In{})
			return out.Plan, err
		})
		inStep.End(kit.End("done"))
		if test.want == forEffects && name != "effects with a question between" { // a step cannot ask in its code
			styles["steps"] = kit.Build(t, &inStep)
		}
		for style, handler := range styles {
			t.Run(name+"/"+style, func(t *testing.T) {
				did = kit.Deeds{}
				last, _ := kit.ServeTrip(t, handler).Run()
				usage := kit.Misuse(t, last.Err)
				require.EqualError(t, usage, test.want)
				require.LessOrEqual(t, did.Count("effect"), 1)
				require.Zero(t, did.Count("second"))
			})
		}
	}
	t.Run("steps of a list", func(t *testing.T) {
		for _, add := range []func(*kit.Steps){
			func(b *kit.Steps) { steps.Always(b, worded("Which seat?")) },
			func(b *kit.Steps) { steps.Do(b, "k", kit.Does("k", &did, "")) },
		} {
			var b kit.Steps
			add(&b)
			add(&b)
			b.End(kit.End("done"))
			_, err := b.Build()
			require.EqualError(t, kit.Misuse(t, err), `mrtr: key "k" stands for two steps: each needs a key of its own`)
		}
	})
}
