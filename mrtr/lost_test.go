package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
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
	voucherWithMore struct {
		voucher
		Row *int `json:"row,omitempty"`
	}
	voucherRetyped struct {
		Ref   int  `json:"ref"`
		Seats *int `json:"seats,omitempty"`
	}
)

var threeSeats = func() *int { n := 3; return &n }()

// deployed plays a call that version one begins and version two ends.
func deployed(t *testing.T, one, two tripStyle, answer map[string]any) tripReply {
	t.Helper()
	before := newTrip(newTripRuntime(t, nil), one, "v1")
	after := newTrip(newTripRuntime(t, nil), two, "v2")
	asked := before.begin()
	require.NoError(t, asked.err)
	if answer != nil { // to a first question, still in version one
		asked = before.round(t.Context(), "", asked.state, mcp.InputResponseMap{"form": &mcp.ElicitResult{Action: "accept", Content: answer}})
		require.NoError(t, asked.err)
	}
	return after.answer(before.ends(t, asked), "x")
}

// valued is a handler that has an effect with value v, asks, and prints the value. Its steps
// have the effect as a step.
func valued[T any](v T) map[string]tripStyle {
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		got := once(s, "hold", func(context.Context, string) (T, error) { return v, nil })
		ask(s, text("q"))
		return tripOut{Plan: string(mustJSON(got))}, nil
	})
	var list tripSteps
	hold := steps.Do(&list, "hold", func(context.Context, *tripAt, string) (T, error) { return v, nil })
	steps.Always(&list, text("q"))
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
		return tripOut{Plan: string(mustJSON(hold.Of(at)))}, nil
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
		after  map[string]tripStyle
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
					require.Equal(t, tripReply{plan: `{"ref":"A1","seats":3}`}, last)
					return
				}
				of := `the value of effect "hold"`
				if style == "steps" {
					of = `the value of step "hold"`
				}
				require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Replaced: true, Detail: of + test.detail, Applied: []string{"hold"}}, ended(t, last.err, mrtr.Diverged))
			})
		}
	}
}

// A field that was added is zero. Steps compare the types in their list, and end.
func TestAFieldOfAnEffectIsAdded(t *testing.T) {
	before, after := valued(voucher{"A1", threeSeats}), valued(voucherWithMore{})
	for style := range before {
		last := deployed(t, before[style], after[style], nil)
		if style == "steps" {
			require.Equal(t, "its list of steps", ended(t, last.err, mrtr.Diverged).Detail)
			continue
		}
		require.Equal(t, tripReply{plan: `{"ref":"A1","seats":3}`}, last)
	}
}

// asksThenHolds asks with a form of fields, perhaps has an effect, and asks again.
func asksThenHolds[T any](holds bool) map[string]tripStyle {
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		got := ask(s, mrtr.Elicit[T]("form", "Which?"))
		if holds {
			once(s, "hold", func(context.Context, string) (int, error) { return 1, nil })
		}
		ask(s, text("q"))
		return tripOut{Plan: string(mustJSON(got))}, nil
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
		for change, after := range map[string]map[string]tripStyle{"renamed": asksThenHolds[voucherRenamed](holds), "removed": asksThenHolds[voucherWithout](holds)} {
			for style := range before {
				t.Run(fmt.Sprintf("%s/%s/effect %t", change, style, holds), func(t *testing.T) {
					last := deployed(t, before[style], after[style], map[string]any{"ref": "A1", "seats": 3})
					if holds {
						require.Equal(t, `question "form" is not worded as it was`, ended(t, last.err, mrtr.Diverged).Detail)
						return
					}
					require.Equal(t, []string{"form"}, last.asks, "%v", last.err)
				})
			}
		}
	}
}

// The same list of steps, before and after deployments that changed a step.
func TestALostStepIsNamed(t *testing.T) {
	steps := func(keys ...string) tripStyle {
		var list tripSteps
		for _, key := range keys {
			steps.Do(&list, key, func(context.Context, *tripAt, string) (string, error) { return key, nil })
		}
		steps.Always(&list, text("q"))
		steps.Do(&list, "z", func(context.Context, *tripAt, string) (string, error) { return "z", nil })
		list.End(ends("done"))
		return list.MustBuild()
	}
	for _, test := range []struct {
		change string
		after  tripStyle
		detail string
	}{
		{"renamed", steps("a", "c"), `step "b" is gone from its list of steps`},
		{"removed", steps("b"), `step "a" is gone from its list of steps`},
		{"added", steps("a", "new", "b"), `step "new" now comes before steps that were taken`},
		{"moved, which the state does not show", steps("b", "a"), "its list of steps"},
	} {
		last := deployed(t, steps("a", "b"), test.after, nil)
		require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Replaced: true, Detail: test.detail, Applied: []string{"a", "b"}}, ended(t, last.err, mrtr.Diverged, test.change))
	}
}

// go-sdk judges the arguments by today's schema before the handler is entered, and names the field.
func TestAFieldOfTheArgumentsIsLost(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	begun := send(t, connect(t, takes[struct {
		City string `json:"city"`
	}](rt), nil), wire.Request{Name: "tool", Arguments: map[string]any{"city": "Oslo"}})
	renamed := connect(t, takes[struct {
		Town string `json:"town"`
	}](rt), nil)
	last := send(t, renamed, wire.Request{Name: "tool", Arguments: map[string]any{"city": "Oslo"}, State: begun.State, Responses: map[string]any{"q": accept("q", "x")}})
	require.True(t, last.IsError)
	require.Contains(t, last.Text, `["city"]`)
}

func takes[In any](rt *mrtr.Runtime) *mcp.Server {
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ In) (*mrtr.IncompleteResult, output, error) {
		if _, ok := mrtr.Answer(c, text("q")); !ok {
			return mrtr.Need(text("q")), output{}, nil
		}
		return nil, output{"done"}, nil
	}), nil))
	return server
}
