package mrtr_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

var updateDeploys = flag.Bool("update-deploys", false, "write the table of docs/what-can-happen-twice.md")

// part is an effect of a handler, or a question with its words and choices.
type part struct {
	effect   string
	key      string
	words    string
	choices  []string
	confirms bool
}

func (p part) choose() mrtr.Question[string] {
	return mrtr.Choose(p.key, p.words, mrtr.Choices(p.choices...)...)
}

func (p part) confirm() mrtr.Question[bool] { return mrtr.Confirm(p.key, p.words) }

// deployStyles are a handler of these parts, in every style.
func deployStyles(did *kit.Deeds, parts []part) map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		for _, p := range parts {
			switch {
			case p.effect != "":
				kit.Once(s, p.effect, did.Do(p.effect))
			case p.confirms:
				kit.Ask(s, p.confirm())
			default:
				kit.Ask(s, p.choose())
			}
		}
		return kit.Out{Plan: "done"}, nil
	})
	var b kit.Steps
	for _, p := range parts {
		switch {
		case p.effect != "":
			steps.Do(&b, p.effect, func(ctx context.Context, _ *kit.At, idem string) (string, error) { return did.Do(p.effect)(ctx, idem) })
		case p.confirms:
			steps.Always(&b, p.confirm())
		default:
			steps.Always(&b, p.choose())
		}
	}
	b.End(kit.End("done"))
	styles["steps"] = b.MustBuild()
	return styles
}

var (
	first   = part{key: "first", words: "Which?", choices: []string{"a", "b"}}
	consent = part{key: "first", words: "Pay 10?", confirms: true}
	second  = part{key: "second", words: "Where?", choices: []string{"a", "b"}}
	third   = part{key: "third", words: "When?", choices: []string{"a", "b"}}
	hold    = part{effect: "hold"}
	extra   = part{effect: "extra"}
)

func (p part) reworded() part                  { p.words = "In other words?"; return p }
func (p part) offering(choices ...string) part { p.choices = choices; return p }

// deployments are the changes of a handler between two rounds of a call: the first
// question was answered before, with "a"; the second was asked before, and its answer,
// "a" too, reaches the new code.
var deployments = []struct {
	change        string
	before, after []part
}{
	{"code that neither asks nor acts", []part{hold, first, second, third}, []part{hold, first, second, third}},
	{"the pending question is reworded", []part{hold, first, second, third}, []part{hold, first, second.reworded(), third}},
	{"the pending question has one more choice", []part{hold, first, second, third}, []part{hold, first, second.offering("a", "b", "c"), third}},
	{"the choice that the user makes is withdrawn", []part{hold, first, second, third}, []part{hold, first, second.offering("b", "c"), third}},
	{"an answered question is reworded, no effect since", []part{hold, first, second, third}, []part{hold, first.reworded(), second, third}},
	{"an answered question is reworded, an effect since", []part{first, hold, second, third}, []part{first.reworded(), hold, second, third}},
	{"an answered question has one more choice, no effect since", []part{hold, first, second, third}, []part{hold, first.offering("a", "b", "c"), second, third}},
	{"a choice already made is withdrawn, no effect since", []part{hold, first, second, third}, []part{hold, first.offering("b", "c"), second, third}},
	{"a choice already made is withdrawn, an effect since", []part{first, hold, second, third}, []part{first.offering("b", "c"), hold, second, third}},
	{"an answered `Confirm` is reworded, no effect since", []part{consent, second, third}, []part{consent.reworded(), second, third}},
	{"an answered `Confirm` is reworded, an effect since", []part{consent, hold, second, third}, []part{consent.reworded(), hold, second, third}},
	{"a question is appended", []part{hold, first, second}, []part{hold, first, second, third}},
	{"an effect is appended", []part{hold, first, second, third}, []part{hold, first, second, third, extra}},
	{"an effect is inserted after the pending question", []part{hold, first, second, third}, []part{hold, first, second, extra, third}},
	{"a question is inserted between an effect and the pending one", []part{hold, first, second}, []part{hold, third, first, second}},
	{"an effect is inserted before the pending question", []part{hold, first, second, third}, []part{hold, first, extra, second, third}},
	{"an answered question is removed", []part{hold, first, second, third}, []part{hold, second, third}},
	{"an effect that happened is removed", []part{hold, first, second, third}, []part{first, second, third}},
	{"the pending question is removed", []part{hold, first, second, third}, []part{hold, first, third}},
}

// The handler is deployed anew in the middle of a call, in every style. This prints the
// table of docs/what-can-happen-twice.md.
func TestDeployments(t *testing.T) {
	var table strings.Builder
	table.WriteString("| what changed | Native | Steps | Journal, Resumable |\n|---|---|---|---|\n")
	var rows kit.Rows
	for _, d := range deployments {
		fates := map[string]string{}
		for _, style := range []string{"Native", "Steps", "Journal", "Resumable", "Coroutine"} {
			var did kit.Deeds
			one := kit.NewTrip(kit.TripRuntime(t, nil), deployStyles(&did, d.before)[strings.ToLower(style)], "v1")
			two := kit.NewTrip(kit.TripRuntime(t, nil), deployStyles(&did, d.after)[strings.ToLower(style)], "v2")
			asked := one.Begin()
			require.Equal(t, []string{"first"}, asked.Asks)
			asked = one.Ends(t, one.Round(t.Context(), "", asked.State, choosing(asked, d.before)))
			require.Equal(t, []string{"second"}, asked.Asks)
			fates[style] = fateOf(t, two, two.Round(t.Context(), "", asked.State, choosing(asked, d.before)), d.after)
			require.LessOrEqual(t, did.Count("hold"), 1, "%s: %s", d.change, style)
			require.LessOrEqual(t, did.Count("extra"), 1, "%s: %s", d.change, style)
		}
		require.Equal(t, fates["Journal"], fates["Resumable"], d.change)
		require.Equal(t, "frame gone", fates["Coroutine"], d.change)
		rows.Add(d.change, fmt.Sprintf(" %s | %s | %s |", fates["Native"], fates["Steps"], fates["Journal"]))
	}
	table.WriteString(rows.By("<br>"))
	const docs, begin, end = "../docs/what-can-happen-twice.md", "<!-- table -->\n", "<!-- end of table -->\n"
	text, err := os.ReadFile(docs)
	require.NoError(t, err)
	above, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	was, below, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *updateDeploys {
		require.NoError(t, os.WriteFile(docs, []byte(above+begin+table.String()+end+below), 0o644))
		return
	}
	require.Equal(t, table.String(), was, "go test ./mrtr -run TestDeployments -update-deploys writes the table")
}

// fateOf takes a call to its end in the new code, and says how that went.
func fateOf(t *testing.T, tool *kit.Trip, reply kit.Reply, parts []part) string {
	t.Helper()
	var again []string
	for range 9 {
		var ended *mrtr.Error
		switch {
		case errors.As(reply.Err, &ended):
			require.Empty(t, again, "a call that has to end asks nothing first")
			return strings.ReplaceAll(string(ended.Reason), "_", " ")
		case reply.Err != nil:
			require.NoError(t, reply.Err)
		case reply.Asks == nil:
			require.Equal(t, "done", reply.Plan)
			if again == nil {
				return "goes on"
			}
			return "asks " + strings.Join(again, ", ")
		}
		for _, key := range reply.Asks {
			if key != "third" {
				again = append(again, key)
			}
		}
		reply = tool.Round(t.Context(), "", reply.State, choosing(reply, parts))
	}
	require.Fail(t, "the call has no end")
	return ""
}

// choosing answers with the first choice, or yes.
func choosing(reply kit.Reply, parts []part) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range reply.Asks {
		for _, p := range parts {
			var value any = true
			if !p.confirms && len(p.choices) > 0 {
				value = p.choices[0]
			}
			if p.key == key {
				responses[key] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: value}}
			}
		}
	}
	return responses
}

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
// have the effect as a step. Its undo gives back the thing that the value names.
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
	for name, style := range styles {
		styles[name] = style.OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[T]) error { return nil }))
	}
	return styles
}

// An effect's value may have been made by a version whose type had other fields. A field that
// was renamed or removed ends the call by name, instead of reading as zero, and is not undone.
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
				require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Replaced: true, Detail: of + test.detail, Applied: []string{"hold"}, NotUndone: []string{"hold"}}, kit.Ended(t, last.Err, mrtr.Diverged))
			})
		}
	}
}

// voucherSnappish panics over vouchers of other versions.
type voucherSnappish struct{ Ref string }

func (*voucherSnappish) UnmarshalJSON([]byte) error { panic("snap") }

// A type that panics over the value of another version ends the call, and its effect is not undone.
func TestATypeThatPanicsOverAnEffect(t *testing.T) {
	after := valued(voucherSnappish{})
	for style, before := range valued(voucher{"A1", threeSeats}) {
		t.Run(style, func(t *testing.T) {
			last := deployed(t, before, after[style], nil)
			require.EqualError(t, last.Err, `The tool failed unexpectedly. "hold" was done and could not be undone: do not call the tool again without checking.`)
			require.Equal(t, "applied", report.EffectOf(last.Err))
		})
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
