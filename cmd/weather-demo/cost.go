package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

const costAbout = `Makes calls of one, four and nine questions in the styles that keep an effect
single, with an effect behind each question, and prints how the cost grows.`

const costIntro = `A tool asks one, four or nine questions, each in a round of its own, and saves
each answer: an effect. E saves them all below its last guard. K asks them all
in one round, since none depends on another, and saves the answers after it.

`

const costHead = "    style           requests    entered     saved      state"

const costLegend = `
  requests  of the client
  entered   how often a function of the author's was called: of G its steps, and
            of K those that ask as well
  saved     how often the effect happened
  state     size of the largest request_state, in bytes
`

// cost prints how the cost of a call grows with its questions.
func cost(ctx context.Context, p printer) error {
	fmt.Fprintf(p, "%s%s\n", costIntro, p.dim(costHead))
	for _, s := range surveys {
		var bills []bill
		for _, n := range []int{1, 4, 9} {
			b, err := s.bill(ctx, n)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if b.failed != "" {
				return fmt.Errorf("%s: %s", s.name, b.failed)
			}
			bills = append(bills, b)
		}
		fmt.Fprintf(p, " %s  %-15s %-12s%-12s%-11s%s\n", s.letter, s.name,
			figures(bills, func(b bill) int { return b.requests }), figures(bills, func(b bill) int { return b.entered }),
			figures(bills, func(b bill) int { return b.saved }), figures(bills, func(b bill) int { return b.state }))
	}
	fmt.Fprint(p, costLegend)
	return tooMany(ctx, p)
}

// tooMany prints how a call of ten rounds ends, and how much it has saved by then.
func tooMany(ctx context.Context, p printer) error {
	letters := map[string][]string{}
	for _, s := range surveys {
		b, err := s.bill(ctx, 10)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		ending := fmt.Sprintf("%d saved: %s", b.saved, b.failed)
		if b.failed == "" {
			ending = fmt.Sprintf("%d saved, in %d requests", b.saved, b.requests)
		}
		letters[ending] = append(letters[ending], s.letter)
	}
	fmt.Fprint(p, "\nMore than nine rounds are more than a client follows. Ten questions:\n\n")
	for _, ending := range sortedKeys(letters) {
		fmt.Fprintf(p, "  %-11s %s\n", strings.Join(letters[ending], " "), ending)
	}
	return nil
}

// survey is a tool of n questions in one style.
type survey struct {
	letter, name string
	style        surveyStyle
}

// surveyStyle makes a tool that asks the questions and saves each answer.
type surveyStyle func(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total]

// total is the output of a survey.
type total struct {
	Sum int `json:"sum"`
}

var surveys = []survey{
	{"E", "native", surveyGuards(false)},
	{"F", "once", surveyGuards(true)},
	{"G", "steps", surveySteps},
	{"H", "coroutine", surveyLinear(mrtr.Coroutine[struct{}, total])},
	{"J", "journal", surveyLinear(mrtr.Journal[struct{}, total])},
	{"K", "given", surveyGiven},
}

// bill is the cost of one call.
type bill struct {
	requests, entered, saved, state int
	failed                          string
}

// Observe counts the calls of the author's functions.
func (b *bill) Observe(_ context.Context, e mrtr.Event) {
	if e.Kind == mrtr.HandlerEntered {
		b.entered++
	}
}

// bill makes a call of n questions.
func (s survey) bill(ctx context.Context, n int) (b bill, err error) {
	var questions []mrtr.Question[int]
	for i := range n {
		questions = append(questions, mrtr.Elicit[int](fmt.Sprintf("q%d", i+1), fmt.Sprintf("Question %d?", i+1)))
	}
	client, err := connect(ctx, &mrtr.Options{Observer: &b}, nil, func(rt *mrtr.Runtime, server *mcp.Server) error {
		mrtr.AddTool(server, &mcp.Tool{Name: "survey"}, mrtr.Tool(rt, s.style(questions, func(int) { b.saved++ }), nil))
		return nil
	}, nil)
	if err != nil {
		return b, err
	}
	defer client.close()
	out, err := client.Call(ctx, "survey", struct{}{}, wire.Answers{"*": wire.Value(1)})
	if err != nil {
		return b, err
	}
	if out.Error != nil {
		return b, errors.New(out.Error.Message)
	}
	b.requests = out.Rounds
	for _, token := range out.States {
		b.state = max(b.state, len(token))
	}
	if out.IsError {
		b.failed = out.Text
	}
	return b, nil
}

// surveyGuards saves each answer at once in Once, or all of them below the last guard.
func surveyGuards(atOnce bool) surveyStyle {
	return func(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
		return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, total, error) {
			var t total
			var unsaved []int
			for _, q := range questions {
				answer, ok := mrtr.Answer(c, q)
				if !ok {
					return mrtr.Need(q), total{}, nil
				}
				if !atOnce {
					unsaved = append(unsaved, answer)
				} else if err := saveOnce(ctx, c, q, answer, save); err != nil {
					return nil, total{}, err
				}
				t.Sum += answer
			}
			for _, answer := range unsaved {
				save(answer)
			}
			return nil, t, nil
		})
	}
}

func surveySteps(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	var b mrtr.Steps[struct{}, total]
	var answers []mrtr.Step[int]
	for _, q := range questions {
		answer := mrtr.AskQuestion(&b, q.Key(), q)
		mrtr.DoStep(&b, "save-"+q.Key(), func(_ context.Context, at *mrtr.At[struct{}], _ string) (bool, error) {
			save(answer.Of(at))
			return true, nil
		})
		answers = append(answers, answer)
	}
	b.End(func(_ context.Context, at *mrtr.At[struct{}]) (t total, err error) {
		for _, answer := range answers {
			t.Sum += answer.Of(at)
		}
		return t, nil
	})
	return b.MustBuild()
}

func surveyGiven(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	var answers []mrtr.Given[struct{}, int]
	var all []mrtr.AnyGiven[struct{}]
	for _, q := range questions {
		answer := mrtr.ResolveQuestion[struct{}](q)
		answers, all = append(answers, answer), append(all, answer)
	}
	return mrtr.GivenAll(func(_ context.Context, c *mrtr.Call, _ struct{}) (t total, err error) {
		for _, answer := range answers {
			save(answer.Of(c))
			t.Sum += answer.Of(c)
		}
		return t, nil
	}, all...)
}

func surveyLinear(style func(mrtr.LinearFunc[struct{}, total]) mrtr.Style[struct{}, total]) surveyStyle {
	return func(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
		return style(func(ctx context.Context, c *mrtr.Call, _ struct{}) (total, error) {
			var t total
			for _, q := range questions {
				answer, err := mrtr.Ask(ctx, c, q)
				if err != nil {
					return total{}, err
				}
				if err := saveOnce(ctx, c, q, answer, save); err != nil {
					return total{}, err
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
