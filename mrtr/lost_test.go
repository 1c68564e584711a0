package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// These are one type, before and after deployments that changed a field of it.
type (
	voucher struct {
		Ref   string `json:"ref"`
		Seats *int   `json:"seats,omitempty"`
	}
	voucherRenamed struct {
		Code  *string `json:"code,omitempty"`
		Seats *int    `json:"seats,omitempty"`
	}
	voucherWithout struct {
		Ref string `json:"ref"`
	}
	voucherRetyped struct {
		Ref   int  `json:"ref"`
		Seats *int `json:"seats,omitempty"`
	}
)

var threeSeats = func() *int { n := 3; return &n }()

// deployed plays a call that version one begins and version two ends.
func deployed(t *testing.T, one, two kit.Style, answer map[string]any) kit.Reply {
	t.Helper()
	before := kit.NewTrip(kit.TripRuntime(t, nil), one, "v1")
	after := kit.NewTrip(kit.TripRuntime(t, nil), two, "v2")
	asked := before.Begin()
	require.NoError(t, asked.Err)
	if answer != nil { // to a first question, still in version one
		asked = before.Round(t.Context(), "", asked.State, mcp.InputResponseMap{"form": &mcp.ElicitResult{Action: "accept", Content: answer}})
		require.NoError(t, asked.Err)
	}
	return after.Answer(before.Ends(t, asked), "x")
}

// valued is a handler that has an effect with value v, asks, and prints the value. Its steps
// have the effect as a step.
func valued[T any](v T) map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		got := kit.Once(s, "hold", func(context.Context, string) (T, error) { return v, nil })
		kit.Ask(s, kit.Text("q"))
		return kit.Out{Plan: string(kit.JSON(got))}, nil
	})
	var list kit.Steps
	hold := steps.Do(&list, "hold", func(context.Context, *kit.At, string) (T, error) { return v, nil })
	steps.Always(&list, kit.Text("q"))
	list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
		return kit.Out{Plan: string(kit.JSON(hold.Of(at)))}, nil
	})
	styles["steps"] = list.MustBuild()
	delete(styles, "coroutine") // it ends with its process
	return styles
}

// An effect's value may have been made by a version whose type had other fields. A field that
// was renamed or removed ends the call by name, instead of reading as zero.
func TestAFieldOfAnEffectIsLost(t *testing.T) {
	before := valued(voucher{"A1", threeSeats})
	require.Len(t, before, 4)
	for _, test := range []struct {
		change string
		after  map[string]kit.Style
		detail string
	}{
		{"renamed", valued(voucherRenamed{}), ` has lost its field "ref"`},
		{"removed", valued(voucherWithout{}), ` has lost its field "seats"`},
		{"retyped", valued(voucherRetyped{}), ` is of another type`},
		{"nothing", valued(voucher{}), ""},
	} {
		for style := range before {
			t.Run(test.change+"/"+style, func(t *testing.T) {
				last := deployed(t, before[style], test.after[style], nil)
				if test.detail == "" {
					require.Equal(t, kit.Reply{Plan: `{"ref":"A1","seats":3}`}, last)
					return
				}
				of := `the value of effect "hold"`
				if style == "steps" {
					of = `the value of step "hold"`
				}
				require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Replaced: true, Detail: of + test.detail, Applied: []string{"hold"}}, kit.Ended(t, last.Err, mrtr.Diverged))
			})
		}
	}
}

// asksThenHolds asks with a form of fields, perhaps has an effect, and asks again.
func asksThenHolds[T any](holds bool) map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		got := kit.Ask(s, mrtr.Elicit[T]("form", "Which?"))
		if holds {
			kit.Once(s, "hold", func(context.Context, string) (int, error) { return 1, nil })
		}
		kit.Ask(s, kit.Text("q"))
		return kit.Out{Plan: string(kit.JSON(got))}, nil
	})
	delete(styles, "coroutine")
	return styles
}

// An answer without a field that the user filled in is no answer to today's form: it is asked
// for again, or the call ends if an effect stands on it.
func TestAFieldOfAnAnswerIsLost(t *testing.T) {
	for _, holds := range []bool{false, true} {
		before := asksThenHolds[voucher](holds)
		require.Len(t, before, 3)
		for change, after := range map[string]map[string]kit.Style{"renamed": asksThenHolds[voucherRenamed](holds), "removed": asksThenHolds[voucherWithout](holds)} {
			for style := range before {
				t.Run(fmt.Sprintf("%s/%s/effect %t", change, style, holds), func(t *testing.T) {
					last := deployed(t, before[style], after[style], map[string]any{"ref": "A1", "seats": 3})
					if holds {
						require.Equal(t, `question "form" is not worded as it was`, kit.Ended(t, last.Err, mrtr.Diverged).Detail)
						return
					}
					require.Equal(t, []string{"form"}, last.Asks, "%v", last.Err)
				})
			}
		}
	}
}

// The same list of steps, before and after deployments that changed a step.
func TestALostStepIsNamed(t *testing.T) {
	steps := func(keys ...string) kit.Style {
		var list kit.Steps
		for _, key := range keys {
			steps.Do(&list, key, func(context.Context, *kit.At, string) (string, error) { return key, nil })
		}
		steps.Always(&list, kit.Text("q"))
		steps.Do(&list, "z", func(context.Context, *kit.At, string) (string, error) { return "z", nil })
		list.End(kit.End("done"))
		return list.MustBuild()
	}
	for _, test := range []struct {
		change string
		after  kit.Style
		detail string
	}{
		{"renamed", steps("a", "c"), `step "b" is gone from its list of steps`},
		{"removed", steps("b"), `step "a" is gone from its list of steps`},
		{"added", steps("a", "new", "b"), `step "new" now comes before steps that were taken`},
		{"moved, which the state does not show", steps("b", "a"), "its list of steps"},
	} {
		last := deployed(t, steps("a", "b"), test.after, nil)
		require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Replaced: true, Detail: test.detail, Applied: []string{"a", "b"}}, kit.Ended(t, last.Err, mrtr.Diverged, test.change))
	}
}
