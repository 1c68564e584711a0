package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

const costAbout = `Makes calls of one, four and nine questions in the styles that keep an effect
single, with an effect behind each question, and prints how the cost grows.`

const costIntro = `A tool asks one, four or nine questions, each in a round of its own, and saves
each answer: an effect. E saves them all below its last guard.

`

const costHead = "    style           requests    entered     saved      state"

const costLegend = `
  requests  of the client
  entered   how often a function of the author's was called; of G, its steps
  saved     how often the effect happened
  state     size of the largest request_state, in bytes
`

// cost prints how the cost of a call grows with its questions.
func cost(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("cost", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	w, p := t.out, painterFor(t.out)
	fmt.Fprintf(w, "%s%s\n", costIntro, p.dim(costHead))
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
		of := func(figure func(bill) int) string {
			var each []string
			for _, b := range bills {
				each = append(each, fmt.Sprint(figure(b)))
			}
			return strings.Join(each, " / ")
		}
		fmt.Fprintf(w, " %s  %-15s %-12s%-12s%-11s%s\n", s.letter, s.name,
			of(func(b bill) int { return b.requests }), of(func(b bill) int { return b.entered }),
			of(func(b bill) int { return b.saved }), of(func(b bill) int { return b.state }))
	}
	fmt.Fprint(w, costLegend)
	return tooMany(ctx, w)
}

// tooMany prints how a call of ten rounds ends, and how much it has saved by then.
func tooMany(ctx context.Context, w io.Writer) error {
	endings := map[string][]string{}
	for _, s := range surveys {
		b, err := s.bill(ctx, 10)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		ending := fmt.Sprintf("%d saved: %s", b.saved, b.failed)
		endings[ending] = append(endings[ending], s.letter)
	}
	fmt.Fprint(w, "\nTen questions in ten rounds are more than a client follows:\n\n")
	for _, ending := range sortedKeys(endings) {
		fmt.Fprintf(w, "  %-11s %s\n", strings.Join(endings[ending], " "), ending)
	}
	return nil
}

// survey is a tool of n questions in one style.
type survey struct {
	letter, name string
	style        func(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total]
}

// total is the output of a survey.
type total struct {
	Sum int `json:"sum"`
}

var surveys = []survey{
	{"E", "native", surveyGuards},
	{"F", "once", surveyOnce},
	{"G", "steps", surveySteps},
	{"H", "coroutine", func(q []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
		return mrtr.Coroutine(surveyLinear(q, save))
	}},
	{"J", "journal", func(q []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
		return mrtr.Journal(surveyLinear(q, save))
	}},
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
	rt, err := mrtr.New(&mrtr.Options{Observer: &b})
	if err != nil {
		return b, err
	}
	defer rt.Close()
	var questions []mrtr.Question[int]
	for i := range n {
		questions = append(questions, mrtr.Elicit[int](fmt.Sprintf("q%d", i+1), fmt.Sprintf("Question %d?", i+1)))
	}
	server := mcp.NewServer(implementation, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "survey"}, mrtr.Tool(rt, s.style(questions, func(int) { b.saved++ }), nil))
	client, err := wire.Connect(ctx, server, nil)
	if err != nil {
		return b, err
	}
	defer client.Close()
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

func surveyGuards(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, total, error) {
		var answers []int
		for _, q := range questions {
			answer, ok := mrtr.Answer(c, q)
			if !ok {
				return mrtr.Need(q), total{}, nil
			}
			answers = append(answers, answer)
		}
		var t total
		for _, answer := range answers {
			save(answer)
			t.Sum += answer
		}
		return nil, t, nil
	})
}

func surveyOnce(questions []mrtr.Question[int], save func(int)) mrtr.Style[struct{}, total] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, total, error) {
		var t total
		for _, q := range questions {
			answer, ok := mrtr.Answer(c, q)
			if !ok {
				return mrtr.Need(q), total{}, nil
			}
			if err := saveOnce(ctx, c, q, answer, save); err != nil {
				return nil, total{}, err
			}
			t.Sum += answer
		}
		return nil, t, nil
	})
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

func surveyLinear(questions []mrtr.Question[int], save func(int)) mrtr.LinearFunc[struct{}, total] {
	return func(ctx context.Context, c *mrtr.Call, _ struct{}) (total, error) {
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
	}
}

func saveOnce(ctx context.Context, c *mrtr.Call, q mrtr.Question[int], answer int, save func(int)) error {
	_, err := mrtr.Once(ctx, c, "save-"+q.Key(), func(context.Context, string) (bool, error) {
		save(answer)
		return true, nil
	})
	return err
}
