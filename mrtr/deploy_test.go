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
func deployStyles(did *deeds, parts []part) map[string]tripStyle {
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		for _, p := range parts {
			switch {
			case p.effect != "":
				once(s, p.effect, did.do(p.effect))
			case p.confirms:
				ask(s, p.confirm())
			default:
				ask(s, p.choose())
			}
		}
		return tripOut{Plan: "done"}, nil
	})
	var b tripSteps
	for _, p := range parts {
		switch {
		case p.effect != "":
			steps.Do(&b, p.effect, func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do(p.effect)(ctx, idem) })
		case p.confirms:
			steps.Always(&b, p.confirm())
		default:
			steps.Always(&b, p.choose())
		}
	}
	b.End(ends("done"))
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
	var rows joinedRows
	for _, d := range deployments {
		fates := map[string]string{}
		for _, style := range []string{"Native", "Steps", "Journal", "Resumable", "Coroutine"} {
			var did deeds
			one := newTrip(newTripRuntime(t, nil), deployStyles(&did, d.before)[strings.ToLower(style)], "v1")
			two := newTrip(newTripRuntime(t, nil), deployStyles(&did, d.after)[strings.ToLower(style)], "v2")
			asked := one.begin()
			require.Equal(t, []string{"first"}, asked.asks)
			asked = one.ends(t, one.round(t.Context(), "", asked.state, choosing(asked, d.before)))
			require.Equal(t, []string{"second"}, asked.asks)
			fates[style] = fateOf(t, two, two.round(t.Context(), "", asked.state, choosing(asked, d.before)), d.after)
			require.LessOrEqual(t, did.count("hold"), 1, "%s: %s", d.change, style)
			require.LessOrEqual(t, did.count("extra"), 1, "%s: %s", d.change, style)
		}
		require.Equal(t, fates["Journal"], fates["Resumable"], d.change)
		require.Equal(t, "frame gone", fates["Coroutine"], d.change)
		rows.add(d.change, fmt.Sprintf(" %s | %s | %s |", fates["Native"], fates["Steps"], fates["Journal"]))
	}
	table.WriteString(rows.by("<br>"))
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
func fateOf(t *testing.T, tool *tripTool, reply tripReply, parts []part) string {
	t.Helper()
	var again []string
	for range 9 {
		var ended *mrtr.Error
		switch {
		case errors.As(reply.err, &ended):
			require.Empty(t, again, "a call that has to end asks nothing first")
			return strings.ReplaceAll(string(ended.Reason), "_", " ")
		case reply.err != nil:
			require.NoError(t, reply.err)
		case reply.asks == nil:
			require.Equal(t, "done", reply.plan)
			if again == nil {
				return "goes on"
			}
			return "asks " + strings.Join(again, ", ")
		}
		for _, key := range reply.asks {
			if key != "third" {
				again = append(again, key)
			}
		}
		reply = tool.round(t.Context(), "", reply.state, choosing(reply, parts))
	}
	require.Fail(t, "the call has no end")
	return ""
}

// choosing answers with the first choice, or yes.
func choosing(reply tripReply, parts []part) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range reply.asks {
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

// Of the questions of one round, those that are worded as they were keep their answers.
func TestOnlyWhatChangedIsAskedAgain(t *testing.T) {
	for name, style := range linearStyles {
		if name == "coroutine" {
			continue // it has no other version
		}
		for _, reworded := range []string{"?q=other words+r", "?q+r=other words"} {
			t.Run(name+reworded, func(t *testing.T) {
				var did deeds
				one := newTrip(newTripRuntime(t, nil), style(script(&did, "!a", "?q+r", "!z")), "v1")
				two := newTrip(newTripRuntime(t, nil), style(script(&did, "!a", reworded, "!z")), "v2")
				again := two.answer(one.ends(t, one.begin()), "x")
				require.NoError(t, again.err)
				changed := map[bool]string{true: "q", false: "r"}[strings.Contains(reworded, "q=")]
				require.Equal(t, []string{changed}, again.asks)
				last := two.answer(again, "y")
				require.Equal(t, tripReply{plan: map[string]string{"q": "a y x z ", "r": "a x y z "}[changed]}, last)
				require.Equal(t, 1, did.count("a"))
			})
		}
	}
}

// joinedRows are the rows of a table. Names whose cells are equal share one.
type joinedRows []struct {
	names []string
	cells string
}

func (r *joinedRows) add(name, cells string) {
	for i := range *r {
		if (*r)[i].cells == cells {
			(*r)[i].names = append((*r)[i].names, name)
			return
		}
	}
	*r = append(*r, struct {
		names []string
		cells string
	}{[]string{name}, cells})
}

func (r joinedRows) by(separator string) (rows string) {
	for _, row := range r {
		rows += "| " + strings.Join(row.names, separator) + " |" + row.cells + "\n"
	}
	return rows
}
