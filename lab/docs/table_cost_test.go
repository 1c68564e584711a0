package docs_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// costTable shows how the cost of a call grows with its questions.
func costTable(t *testing.T) string {
	table := "    style           requests    entered     saved      state\n"
	for _, s := range surveys {
		var bills []*bill
		for _, n := range []int{1, 4, 9} {
			b, out := s.bill(t, n)
			require.False(t, out.IsError, out.Text)
			bills = append(bills, b)
		}
		table += fmt.Sprintf(" %s  %-15s %-12s%-12s%-11s%s\n", s.letter, s.name,
			figures(bills, func(b *bill) int { return b.requests }), figures(bills, func(b *bill) int { return b.entered }),
			figures(bills, func(b *bill) int { return b.saved }), figures(bills, func(b *bill) int { return b.state }))
	}
	return table
}

// A call of ten rounds ends with what it has saved by then. Only a style that asks all
// questions at once completes it.
func TestTenQuestionsAreTooMany(t *testing.T) {
	saved := map[string]int{"native": 0, "once": 9, "steps": 9, "coroutine": 9, "journal": 9, "given": 10}
	for _, s := range surveys {
		b, out := s.bill(t, 10)
		require.Equal(t, s.name != "given", out.IsError, s.name)
		require.Equal(t, saved[s.name], b.saved, s.name)
	}
}

// survey is a tool of several questions in one style, which saves each answer.
type survey struct {
	letter, name string
	style        func(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total]
}

// total is the output of a survey.
type total struct {
	Sum int `json:"sum"`
}

var surveys = []survey{
	{"E", "native", surveyNative},
	{"F", "once", surveyOnce},
	{"G", "steps", surveySteps},
	{"H", "coroutine", surveyLinear(linear.Coroutine[struct{}, total])},
	{"J", "journal", surveyLinear(linear.Journal[struct{}, total])},
	{"K", "given", surveyGiven},
}

// bill is the cost of one call.
type bill struct{ requests, entered, saved, state int }

// Observe counts the calls of the author's functions.
func (b *bill) Observe(_ context.Context, e observe.Event) {
	if e.Kind == observe.HandlerEntered {
		b.entered++
	}
}

// bill makes a call of n questions.
func (s survey) bill(t *testing.T, n int) (*bill, *wire.Outcome) {
	b := &bill{}
	var questions []mrtr.Question[int]
	for i := range n {
		questions = append(questions, mrtr.Elicit[int](fmt.Sprintf("q%d", i+1), fmt.Sprintf("Question %d?", i+1)))
	}
	client := connected(t, &mrtr.Options{Listener: observe.With(b)}, func(server *mcp.Server, rt *mrtr.Runtime) {
		mrtr.AddTool(server, &mcp.Tool{Name: "survey"}, mrtr.Tool(rt, s.style(questions, func(int) { b.saved++ }), nil))
	})
	out, err := client.Call(t.Context(), "survey", struct{}{}, wire.Answers{"*": wire.Value(1)})
	require.NoError(t, err)
	require.Nil(t, out.Error)
	b.requests = out.Rounds
	for _, token := range out.States {
		b.state = max(b.state, len(token))
	}
	return b, out
}

// surveyNative saves all answers below the last guard.
func surveyNative(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	return mrtr.Native(func(_ context.Context, c *mrtr.Call, _ struct{}) (_ *mrtr.IncompleteResult, t total, _ error) {
		var answers []int
		for _, q := range questions {
			answer, ok := mrtr.Answer(c, q)
			if !ok {
				return mrtr.Need(q), t, nil
			}
			answers = append(answers, answer)
		}
		for _, answer := range answers {
			save(answer)
			t.Sum += answer
		}
		return nil, t, nil
	})
}

func surveyOnce(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ struct{}) (_ *mrtr.IncompleteResult, t total, _ error) {
		for _, q := range questions {
			answer, ok := mrtr.Answer(c, q)
			if !ok {
				return mrtr.Need(q), t, nil
			}
			if err := saveOnce(ctx, c, q, answer, save); err != nil {
				return nil, t, err
			}
			t.Sum += answer
		}
		return nil, t, nil
	})
}

func surveySteps(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	var b steps.List[struct{}, total]
	var answers []steps.Step[int]
	for _, q := range questions {
		answer := steps.Always(&b, q)
		steps.Do(&b, "save-"+q.Key(), func(_ context.Context, at *steps.At[struct{}], _ string) (bool, error) {
			save(answer.Of(at))
			return true, nil
		})
		answers = append(answers, answer)
	}
	b.End(func(_ context.Context, at *steps.At[struct{}]) (t total, err error) {
		for _, answer := range answers {
			t.Sum += answer.Of(at)
		}
		return t, nil
	})
	return b.MustBuild()
}

// surveyGiven asks all questions in one round, since none depends on another.
func surveyGiven(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	var answers []given.Answer[struct{}, int]
	var all []given.Any[struct{}]
	for _, q := range questions {
		answer := given.Always[struct{}](q)
		answers, all = append(answers, answer), append(all, answer)
	}
	return given.All(func(_ context.Context, at *given.At[struct{}]) (t total, err error) {
		for _, answer := range answers {
			save(answer.Of(at))
			t.Sum += answer.Of(at)
		}
		return t, nil
	}, all...)
}

func surveyLinear(style func(linear.Func[struct{}, total]) mrtr.Style[struct{}, total]) func([]mrtr.Question[int], func(int)) mrtr.Style[struct{}, total] {
	return func(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
		return style(func(ctx context.Context, c *mrtr.Call, _ struct{}) (t total, err error) {
			for _, q := range questions {
				answer, err := linear.Ask(ctx, c, q)
				if err != nil {
					return t, err
				}
				if err := saveOnce(ctx, c, q, answer, save); err != nil {
					return t, err
				}
				t.Sum += answer
			}
			return t, nil
		})
	}
}

func saveOnce(ctx context.Context, c *mrtr.Call, q mrtr.Question[int], answer int, save func(int)) error {
	_, err := mrtr.Once(ctx, c, "save-"+q.Key(), func(context.Context, string) (bool, error) {
		save(answer)
		return true, nil
	})
	return err
}
