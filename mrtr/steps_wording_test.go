package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// payingInSteps asks for a yes to q, then asks whom to notify, and pays. With early
// the payment is the step right after the yes.
func payingInSteps(t *testing.T, did *deeds, early bool, q func() mrtr.Question[bool]) tripStyle {
	var list tripSteps
	sure := steps.Ask(&list, "sure", func(context.Context, *tripAt) (mrtr.Question[bool], error) { return q(), nil })
	pay := func(context.Context, *tripAt, string) (string, error) {
		did.note("pay")
		return "paid", nil
	}
	if early {
		steps.Do(&list, "pay", pay)
	}
	steps.Always(&list, text("notify"))
	if !early {
		steps.Do(&list, "pay", pay)
	}
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
		return tripOut{Plan: fmt.Sprint(sure.Of(at))}, nil
	})
	return mustBuild(t, &list)
}

// yesTo accepts a confirmation.
func yesTo(key string) mcp.InputResponseMap {
	return mcp.InputResponseMap{key: &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: true}}}
}

// A yes to one question is not a yes to another that a deployment, or a price that
// changed, put in its place. In the other styles Confirm is held in the same way.
func TestStepsHoldAYesAgainstItsQuestion(t *testing.T) {
	ten := func() mrtr.Question[bool] { return mrtr.Confirm("sure", "Pay $10?") }
	thousand := func() mrtr.Question[bool] { return mrtr.Confirm("sure", "Pay $1000?") }
	for _, test := range []struct {
		explanation string
		early       bool // the payment follows the yes
		asksAgain   bool // the answer reaches the new question
		paid        int
	}{
		{"answered before the deployment", false, false, 0},
		{"acted upon before the deployment", true, false, 1},
		{"answered after the deployment", true, true, 1},
	} {
		for _, version := range []string{"v1", "v2"} {
			t.Run(test.explanation+"/"+version, func(t *testing.T) {
				var did deeds
				one := newTrip(newTripRuntime(t, nil), payingInSteps(t, &did, test.early, ten), "v1")
				two := newTrip(newTripRuntime(t, nil), payingInSteps(t, &did, test.early, thousand), version)
				asked := one.begin()
				if test.asksAgain {
					asked = two.round(t.Context(), "", asked.state, yesTo("sure"))
					require.Equal(t, []string{"sure"}, asked.asks, "the other question is asked for its own yes")
					require.Zero(t, did.count("pay"))
					one = two
				}
				asked = one.round(t.Context(), "", asked.state, yesTo("sure"))
				require.Equal(t, []string{"notify"}, asked.asks)
				last := two.answer(asked, "x")
				if test.asksAgain {
					require.Equal(t, "true", last.plan)
				} else {
					require.Contains(t, ended(t, last.err, mrtr.Diverged).Detail, `question "sure" is not worded as it was`)
				}
				require.Equal(t, test.paid, did.count("pay"))
			})
		}
	}
	t.Run("no longer asked", func(t *testing.T) {
		var did deeds
		one := newTrip(newTripRuntime(t, nil), payingInSteps(t, &did, false, ten), "")
		two := newTrip(newTripRuntime(t, nil), payingInSteps(t, &did, false, func() mrtr.Question[bool] { return mrtr.Known(true) }), "")
		asked := one.round(t.Context(), "", one.begin().state, yesTo("sure"))
		require.Contains(t, ended(t, two.answer(asked, "x").err, mrtr.Diverged).Detail, `question "sure" is no longer asked`)
	})
}

// The form of a step's value is part of the list.
func TestStepsNoticeAChangedShape(t *testing.T) {
	var did deeds
	type inner struct{ Row int }
	type tree struct {
		Value    int
		Children []tree
	}
	of := func(add func(list *tripSteps)) tripStyle {
		var list tripSteps
		add(&list)
		steps.Always(&list, text("q"))
		list.End(ends("done"))
		return mustBuild(t, &list)
	}
	var shapes []tripStyle
	add := func(step func(list *tripSteps)) { shapes = append(shapes, of(step)) }
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
		asked := newTrip(newTripRuntime(t, nil), before, "").begin()
		require.NoError(t, asked.err)
		for j, after := range shapes {
			last := newTrip(newTripRuntime(t, nil), after, "").answer(asked, "x")
			if i == j {
				require.NoError(t, last.err)
				continue
			}
			require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Detail: "its list of steps", Applied: []string{"d"}}, ended(t, last.err, mrtr.Diverged, "%d read as %d", i, j))
		}
	}
}

func stepOf[T any](did *deeds, value T) func(list *tripSteps) {
	return func(list *tripSteps) { steps.Do(list, "d", does("d", did, value)) }
}

// A call that began in one style is told apart in every other, before anything runs.
// Journal and Resumable keep the same journal.
func TestEveryStyleNoticesAnother(t *testing.T) {
	began := map[string]string{
		"native": "it was written as guards", "steps": "it was written as a list of steps", "coroutine": "it was written as a coroutine",
		"journal": "it was written as journaled code", "resumable": "it was written as journaled code",
	}
	for before := range began {
		for after := range began {
			t.Run(before+" to "+after, func(t *testing.T) {
				var did deeds
				styles := booking(t, func(context.Context, string) (any, error) { return did.note("book"), nil }, func() error {
					did.note("after")
					return nil
				})
				require.Len(t, styles, len(began))
				one := newTrip(newTripRuntime(t, nil), styles[before], "v1")
				asked := one.ends(t, one.begin())
				require.NoError(t, asked.err)
				last := newTrip(newTripRuntime(t, nil), styles[after], "v2").answer(asked, "x")
				require.Equal(t, 1, did.count("book"))
				switch {
				case before == "coroutine" && after == before:
					ended(t, last.err, mrtr.FrameGone)
				case before == after, began[before] == began[after]:
					require.NoError(t, last.err)
					require.Equal(t, 1, did.count("after"))
					return
				default:
					require.Contains(t, ended(t, last.err, mrtr.Diverged).Detail, began[before])
				}
				require.Zero(t, did.count("after"))
			})
		}
	}
}
