package mrtr_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

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
