package prove_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// breaking names, for each rule, the mistake by which the bare tool of bare_test.go
// breaks it. The tool looks the mistake up by the rule's name. The rules that the
// same mistake cannot but break as well are named beside it.
var breaking = []struct {
	rule        string
	explanation string
	also        []string
}{
	{"state/flipped", "a token that differs from the last in one character is taken for it", nil},
	{"state/cut", "a part of the last token is taken for it", nil},
	{"state/extended", "a token that begins with the last is taken for it", nil},
	{"state/forged", "the claim stands legibly beside a seal, and the seal is not compared with it", []string{"state/spliced", "state/legible"}},
	{"state/resigned", "the key is that of an example", []string{"state/other-deployment", "state/legible"}},
	{"state/parts", "a claim without its seal is believed", []string{"state/legible"}},
	{"state/spliced", "any claim is believed beside any seal", []string{"state/legible"}},
	{"state/garbage", "a short token is taken for the last", nil},
	{"state/large", "an overlong token is taken for the last", nil},
	{"state/not-text", "a state that is no text is taken for the last", nil},
	{"state/left-out", "the last answer without a state completes the call, with no amount", nil},
	{"state/respelled", "padding and line ends behind a token are dropped", nil},
	{"state/other-arguments", "the arguments are not compared with those of the state", nil},
	{"state/other-tool", "the tool is not compared", nil},
	{"state/other-principal", "the caller is not compared", nil},
	{"state/expired", "the time is not compared", nil},
	{"state/other-deployment", "every deployment has the same secret", nil},
	{"state/another-instance", "the amount is kept in the memory of the instance", nil},
	{"state/never-same", "the token is a hash of the request", nil},
	{"state/refusal-harmless", "a refused token spoils the last one", nil},
	{"state/one-refusal", "the refusal says how long the token was", nil},
	{"state/legible", "the claim stands legibly beside the seal", nil},
	{"answer/missing", "a missing answer is a protocol error", nil},
	{"answer/null", "null is taken for the first choice", nil},
	{"answer/wrong-kind", "a sampling or roots response is taken for the first choice", nil},
	{"answer/not-an-object", "a number is taken for the first choice", nil},
	{"answer/bad-action", "the action is not looked at where there is content", nil},
	{"answer/without-content", "accepting without content is taken for the first choice", nil},
	{"answer/against-schema", "content is taken as it comes", nil},
	{"answer/wrong-key", "the only answer is taken, under whatever key", nil},
	{"answer/extra-keys", "an answer that nobody asked for is a protocol error", nil},
	{"answer/no-map", "responses that are no map are taken for the first choices", nil},
	{"answer/prototype-keys", "answers under __proto__ are looked up", nil},
	{"answer/declined", "a decline is taken for the first choice", []string{"effect/declined"}},
	{"answer/cancelled", "a cancel is taken for the first choice", nil},
	{"round/swapped", "the last answer completes the call in the first round", nil},
	{"round/asked-ahead", "an answer to the second question is taken in the first round", nil},
	{"round/endless", "the call asks for ever", nil},
	{"round/final-again", "the result is not remembered on the connection that got it", nil},
	{"round/changed-answers", "the result is remembered by the answers too", nil},
	{"round/at-once", "the call is marked as paid behind the effect", nil},
	{"round/lost-response", "the result is remembered for its connection only", nil},
	{"round/elsewhere", "the result is remembered in the instance", nil},
	{"round/old-round", "the result is remembered by the token", nil},
	{"round/crash", "a call that was begun and not ended is begun again", nil},
	{"effect/once", "the call pays twice", nil},
	{"effect/instances", "the call pays above its questions, once for each instance", []string{"round/elsewhere", "effect/declined"}},
	{"effect/asked-again", "the call pays when it asks again", nil},
	{"effect/refused", "a refusal has an effect", nil},
	{"effect/unasked", "a client that cannot be asked has paid", nil},
	{"effect/declined", "a decline has an effect", nil},
	{"client/capability-missing", "the first round asks any client", nil},
	{"client/capability-named", "the error has no data", nil},
	{"client/other-mode", "whoever declares any elicitation is sent a form", nil},
	{"client/dropped", "the second round asks any client", nil},
	{"client/same-list", "a client that declares nothing is listed one tool less", nil},
	{"client/legacy-leak", "a legacy client is sent the first round as its result", nil},
	{"client/legacy-silent", "a legacy client is asked whatever it declared", nil},
	{"client/legacy-full", "a legacy client gets an empty result", nil},
	{"client/legacy-declined", "a decline over a connection is taken for the first choice", nil},
	{"input/missing", "a receiver that is missing is nobody", nil},
	{"input/wrong-type", "a receiver that is no text is nobody", nil},
	{"input/unknown", "arguments are not compared with the schema, which is closed", nil},
	{"input/not-an-object", "arguments that are no object are none, and the receiver is nobody", nil},
	{"input/later-round", "arguments are read in the first round alone", nil},
	{"result/schema", "the resultType is done", nil},
	{"result/questions", "a property of the form is an object", nil},
	{"result/output", "a text of the output is a number", nil},
	{"result/codes", "a state that is no text is reported as a mismatch of headers", nil},
	{"result/blame", "a state that is no text is reported as an internal error", nil},
	{"result/unknown-tool", "an unknown tool is an error result", nil},
	{"result/one-answer", "each response is sent twice", nil},
	{"result/always-answer", "a call whose name is no text is not answered", nil},
	{"server/alive", "a connection over which nonsense came is good for nothing more", nil},
	{"server/apart", "the receiver is that of the call which began last", nil},
	{"server/in-time", "a lock is held while a legacy client is asked", nil},
	{"server/leaves-nothing", "calls are never forgotten", nil},
}

func TestASafeToolKeepsEveryRule(t *testing.T) {
	report := proved(t, "", strict)
	require.Len(t, report.Findings, len(prove.Rules()))
	for _, f := range report.Findings {
		if slices.Contains([]string{"state/forged", "state/resigned", "state/parts", "state/spliced", "answer/false"}, f.Rule.Name) {
			require.Equal(t, prove.Skip, f.Outcome, "its state is sealed, and of one part, and no question is for a yes or no")
			continue
		}
		require.Equal(t, prove.Pass, f.Outcome, f.String())
	}
}

func TestEveryRuleHasAMistakeThatBreaksIt(t *testing.T) {
	var rules, broken []string
	for _, r := range prove.Rules() {
		rules = append(rules, r.Name)
	}
	for _, b := range breaking {
		broken = append(broken, b.rule)
		require.NotEmpty(t, b.explanation)
	}
	rules = slices.DeleteFunc(rules, func(rule string) bool { return rule == "answer/false" }) // see desk_test.go
	require.GreaterOrEqual(t, len(rules), 55)
	require.Equal(t, rules, broken)
}

func TestARuleCondemnsTheMistakeThatBreaksIt(t *testing.T) {
	require.NotEmpty(t, breaking)
	for _, b := range breaking {
		t.Run(b.rule, func(t *testing.T) {
			t.Parallel()
			report := proved(t, b.rule, strict, unlessNightly(append([]string{b.rule}, b.also...)...)...)
			condemned := []string{b.rule}
			for _, f := range report.Findings {
				failed := f.Outcome == prove.Fail || f.Outcome == prove.Note
				if b.rule == "state/forged" && f.Rule.Name == "state/flipped" {
					continue // a changed character may be one of the claim's
				}
				if f.Rule.Name == b.rule {
					require.True(t, failed, "%s: %s", b.explanation, f)
				} else if failed {
					condemned = append(condemned, f.Rule.Name)
				}
			}
			require.Equal(t, append([]string{b.rule}, b.also...), condemned, "%s\n%s", b.explanation, report)
		})
	}
}

func TestTwoRunsGiveTheSameReport(t *testing.T) {
	for _, broken := range []string{"", "state/forged", "answer/bad-action", "round/at-once", "result/one-answer"} {
		var only []string
		if group, _, found := strings.Cut(broken, "/"); found {
			only = unlessNightly(group)
		}
		run := func() string {
			report := proved(t, broken, strict, only...)
			require.NotZero(t, report.Calls)
			report.Calls = 0 // it depends on the spelling of states that are drawn
			return report.String()
		}
		require.Equal(t, run(), run())
	}
}

// Where nobody asked for single use, an effect that happens again is worth a note.
func TestSingleUseIsDemandedOfWhoPromisesIt(t *testing.T) {
	lax := strict
	lax.SingleUse = false
	for _, s := range []struct {
		scenario prove.Scenario
		want     prove.Outcome
	}{{lax, prove.Note}, {strict, prove.Fail}} {
		f := of(t, proved(t, "round/final-again", s.scenario, "round/final-again"), "round/final-again")
		require.Equal(t, s.want, f.Outcome)
		require.Contains(t, f.Detail, `"pay" happened 2 times instead of 1`)
	}
}

// A tool whose effects nobody counts is not proved to have them once.
func TestAnEffectThatIsNotCounted(t *testing.T) {
	for explanation, c := range map[string]struct {
		times   map[string]int
		outcome prove.Outcome
		detail  string
	}{
		"nothing is expected":           {nil, prove.Skip, "needs a tool with an effect: none was counted in an honest call"},
		"an effect is expected":         {map[string]int{"pay": 1}, prove.Fail, `"pay" happened 0 times instead of 1`},
		"none is expected, and by name": {map[string]int{"pay": 0}, prove.Skip, "needs a tool with an effect: none was counted in an honest call"},
	} {
		t.Run(explanation, inBubble(func(t *testing.T) {
			subject := newWorld("").subject()
			subject.Effects = func(context.Context) (map[string]int, error) { return map[string]int{}, nil }
			scenario := strict
			scenario.Times = c.times
			report := must(prove.Run(t.Context(), subject, scenario, &prove.Options{Only: []string{"effect/once"}}))(t)
			require.Len(t, report.Findings, 1)
			require.Equal(t, c.outcome, report.Findings[0].Outcome)
			require.Equal(t, c.detail, report.Findings[0].Detail)
		}))
	}
}

// A count that fails is heard of before the tool is called, so that nothing is done in vain.
func TestACountThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("")
		subject := w.subject()
		count := subject.Effects
		subject.Effects = func(context.Context) (map[string]int, error) { return nil, errors.New("there is no ledger") }
		_, err := prove.Run(t.Context(), subject, strict, nil)
		require.EqualError(t, err, "prove: nothing could be proved: the effects cannot be counted: there is no ledger")
		require.Zero(t, must(count(t.Context()))(t)["pay"])
	})
}

// A rule that lacks an ability says so, and never passes.
func TestWithoutAbilitiesRulesAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subject := prove.Subject{Dial: newWorld("").subject().Dial, First: &prove.Caller{Name: "ann"}}
		scenario := prove.Scenario{Tool: "pay", Arguments: map[string]any{"to": "Ann"}}
		report := must(prove.Run(t.Context(), subject, scenario, nil))(t)
		lacks := map[string]string{}
		for _, f := range report.Findings {
			if f.Outcome == prove.Skip {
				lacks[f.Rule.Name] = f.Detail
			} else {
				require.Equal(t, prove.Pass, f.Outcome, f.String())
			}
		}
		const count, fresh = "needs a count of the effects", "needs another instance with the same secrets"
		require.Equal(t, map[string]string{
			"state/forged": "needs a legible state", "state/resigned": "needs a legible state with a signature beside it", "state/parts": "needs a state that can be altered so",
			"answer/false":  "needs a form in which the user says yes or no",
			"state/spliced": "needs a state of several parts, which differ from call to call", "state/other-arguments": "needs other arguments", "state/other-tool": "needs another tool",
			"state/other-principal": "needs a second caller", "state/expired": "needs a way to let states expire",
			"state/other-deployment": "needs a server with other secrets", "state/another-instance": fresh,
			"round/final-again": count, "round/changed-answers": count, "round/at-once": count, "round/elsewhere": count, "round/old-round": count, "round/crash": count,
			"effect/once": count, "effect/instances": count, "effect/asked-again": count, "effect/refused": count, "effect/unasked": count, "effect/declined": count,
			"server/leaves-nothing": "needs a count of what the server holds",
		}, lacks)
	})
}

func TestNothingToProveIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subject := newWorld("").subject()
		for _, wrong := range []struct {
			subject  prove.Subject
			scenario prove.Scenario
			opts     *prove.Options
			says     string
		}{
			{prove.Subject{}, strict, nil, "the subject has no Dial"},
			{subject, prove.Scenario{}, nil, "the scenario names no tool"},
			{subject, prove.Scenario{Tool: "none"}, nil, `the server lists no tool "none", but "pay", "refund"`},
			{subject, prove.Scenario{Tool: "pay", Arguments: map[string]any{}}, nil, "does not complete: error -32602: the arguments are not good"},
			{subject, strict, &prove.Options{Only: []string{"state/none"}}, `there is no rule and no group "state/none"`},
			{subject, strict, &prove.Options{Level: "LOUD"}, `there is no level "LOUD"`},
			{subject, strict, &prove.Options{Patience: -1}, "negative patience"},
		} {
			_, err := prove.Run(t.Context(), wrong.subject, wrong.scenario, wrong.opts)
			require.ErrorContains(t, err, wrong.says)
		}
	})
}

func TestOnlyAndLevelSelectRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var progress []string
		report, err := prove.Run(t.Context(), newWorld("").subject(), strict, &prove.Options{
			Only: []string{"client", "state/flipped"}, Level: prove.Must, Progress: func(f prove.Finding) { progress = append(progress, f.Rule.Name) },
		})
		require.NoError(t, err)
		require.Equal(t, []string{"state/flipped", "client/capability-missing", "client/capability-named", "client/other-mode", "client/dropped", "client/legacy-leak", "client/legacy-silent"}, progress)
		require.Len(t, report.Findings, len(progress))
	})
}

// proved proves the bare tool with a mistake in a bubble, where an hour passes at
// once. None of only means all rules.
func proved(t *testing.T, broken string, s prove.Scenario, only ...string) (report *prove.Report) {
	t.Helper()
	return provedOf(t, "", broken, s, only...)
}

// provedOf proves another design of it.
func provedOf(t *testing.T, design, broken string, s prove.Scenario, only ...string) (report *prove.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		report = must(prove.Run(t.Context(), newWorldOf(design, broken).subject(), s, &prove.Options{Patience: 5 * time.Second, Only: only}))(t)
	})
	return report
}
