package steps_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

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
