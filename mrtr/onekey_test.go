package mrtr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// A key means one thing in one entry of a handler, in every style: the mistake has one
// sentence, which names the key, and nothing is asked or done under it.
func TestOneKey(t *testing.T) {
	const forQuestions = `mrtr: key "k" stands for two questions: each needs a key of its own`
	const forEffects = `mrtr: key "k" stands for two effects: each needs a key of its own`
	worded := func(words string) mrtr.Question[string] { return mrtr.Elicit[string]("k", words) }
	read := func(c *mrtr.Call, q mrtr.Question[string]) string { v, _ := mrtr.Answer(c, q); return v }
	var did deeds
	tests := map[string]struct {
		body stageFunc[tripIn, tripOut]
		want string
	}{
		"questions in turn": {func(s *stage, _ tripIn) (tripOut, error) {
			ask(s, worded("Which seat?"))
			ask(s, worded("Which meal?"))
			did.note("second")
			return tripOut{}, nil
		}, forQuestions},
		"an answer read in other words": {func(s *stage, _ tripIn) (tripOut, error) {
			ask(s, worded("Which seat?"))
			ask(s, text("between"))
			meal := read(s.Call, worded("Which meal?"))
			return tripOut{Plan: meal}, nil
		}, forQuestions},
		"looked for in other words": {func(s *stage, _ tripIn) (tripOut, error) {
			if _, ok := mrtr.Answer(s.Call, worded("Which seat?")); !ok {
				ask(s, worded("Which meal?"))
			}
			return tripOut{}, nil
		}, forQuestions},
		"questions of one round": {func(s *stage, _ tripIn) (tripOut, error) {
			if s.guarded {
				panic(cut{need: mrtr.Need(worded("Which seat?"), worded("Which meal?"))})
			}
			return tripOut{}, linear.AskAll(s.ctx, s.Call, worded("Which seat?"), worded("Which meal?"))
		}, forQuestions},
		"effects in turn": {func(s *stage, _ tripIn) (tripOut, error) {
			for range 2 {
				once(s, "k", did.do("effect"))
			}
			did.note("second")
			return tripOut{}, nil
		}, forEffects},
		"effects with a question between": {func(s *stage, _ tripIn) (tripOut, error) {
			once(s, "k", did.do("effect"))
			ask(s, text("between"))
			once(s, "k", did.do("second"))
			return tripOut{}, nil
		}, forEffects},
		"effects inside another": {func(s *stage, _ tripIn) (tripOut, error) {
			_, err := mrtr.Once(s.ctx, s.Call, "outer", func(ctx context.Context, _ string) (string, error) {
				if _, err := mrtr.Once(ctx, s.Call, "k", did.do("effect")); err != nil {
					return "", err
				}
				return mrtr.Once(ctx, s.Call, "k", did.do("second"))
			})
			return tripOut{}, err
		}, forEffects},
		"effects at a time": {func(s *stage, _ tripIn) (tripOut, error) {
			_, err := mrtr.Once(s.ctx, s.Call, "k", func(ctx context.Context, _ string) (string, error) {
				return mrtr.Once(ctx, s.Call, "k", did.do("second"))
			})
			return tripOut{}, err
		}, forEffects},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		styles := everyStyle(test.body)
		var inStep tripSteps
		steps.Do(&inStep, "step", func(ctx context.Context, at *tripAt, _ string) (string, error) {
			out, err := linearOf(test.body)(ctx, at.Call, tripIn{})
			return out.Plan, err
		})
		inStep.End(ends("done"))
		if test.want == forEffects && name != "effects with a question between" { // a step cannot ask in its code
			styles["steps"] = mustBuild(t, &inStep)
		}
		for style, handler := range styles {
			t.Run(name+"/"+style, func(t *testing.T) {
				did = deeds{}
				last, _ := serveTrip(t, handler).run()
				usage := misuse(t, last.err)
				require.EqualError(t, usage, test.want)
				require.LessOrEqual(t, did.count("effect"), 1)
				require.Zero(t, did.count("second"))
			})
		}
	}
	t.Run("steps of a list", func(t *testing.T) {
		for _, add := range []func(*tripSteps){
			func(b *tripSteps) { steps.Always(b, worded("Which seat?")) },
			func(b *tripSteps) { steps.Do(b, "k", does("k", &did, "")) },
		} {
			var b tripSteps
			add(&b)
			add(&b)
			b.End(ends("done"))
			_, err := b.Build()
			require.EqualError(t, misuse(t, err), `mrtr: key "k" stands for two steps: each needs a key of its own`)
		}
	})
}

// The same question may be read twice, an effect that failed may be tried again, and one
// that is asked for in another entry is the same.
func TestOneKeyForOneThing(t *testing.T) {
	var did deeds
	for name, style := range everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		ask(s, mrtr.Elicit[string]("seat", "Which seat?"))
		seat, _ := mrtr.Answer(s.Call, mrtr.Elicit[string]("seat", "Which seat?"))
		var paid string
		for range 3 {
			var err error
			if paid, err = mrtr.Once(s.ctx, s.Call, "pay", func(ctx context.Context, _ string) (string, error) {
				if _, err := mrtr.Once(ctx, s.Call, "reserve", did.do("reserve")); err != nil {
					return "", err
				}
				if did.note("pay") < 3 {
					return "", errors.New("refused")
				}
				return "paid", nil
			}); err == nil {
				break
			}
		}
		ask(s, text("more"))
		return tripOut{Plan: seat + " " + paid}, nil
	}) {
		t.Run(name, func(t *testing.T) {
			did = deeds{}
			last, _ := serveTrip(t, style).run()
			require.Equal(t, tripReply{plan: "seat paid"}, last)
			require.Equal(t, []int{1, 3}, []int{did.count("reserve"), did.count("pay")})
		})
	}
}
