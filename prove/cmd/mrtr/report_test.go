package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// found are a failure of each level, and one finding of each other outcome.
func found() prove.Reports {
	rule := func(name string) prove.Rule {
		all := slices.Concat(prove.Rules(), prove.SweepRules())
		return all[slices.IndexFunc(all, func(r prove.Rule) bool { return r.Name == name })]
	}
	return prove.Reports{
		{Tool: "deploy", Calls: 400, Effects: map[string]int{"deployed": 31}, Findings: []prove.Finding{
			{Rule: rule("state/altered"), Outcome: prove.Fail, Detail: "the altered state was taken\n::error::100% of it"},
			{Rule: rule("answer/missing"), Outcome: prove.Fail, Detail: "charged"},
			{Rule: rule("server/alive"), Outcome: prove.Fail, Detail: "asked for ever"},
			{Rule: rule("once/again"), Outcome: prove.Note, Detail: "once more"},
			{Rule: rule("state/other-principal"), Outcome: prove.Skip, Detail: "needs a second caller", Lacks: "a second caller"},
			{Rule: rule("state/forged"), Outcome: prove.Pass},
		}},
		{Client: "legacy", Calls: 2, Findings: []prove.Finding{{Rule: rule("sweep/one-answer"), Outcome: prove.Fail, Detail: "two"}}},
	}
}

// The level that was asked for decides in every format.
func TestFormatsAgreeOnWhatFailed(t *testing.T) {
	for level, want := range map[prove.Level]int{prove.Must: 2, prove.Should: 3, prove.Ours: 4} {
		r := newReport(found(), level, nil)
		require.Equal(t, summary{Tried: 6, Failed: want, Weaker: 4 - want, Noted: 1, Skipped: 1, Calls: 402, Level: level}, r.Summary)
		require.Equal(t, statusFound, r.status())

		var junit, annotations, quiet strings.Builder
		require.NoError(t, r.writeJUnit(&junit))
		require.Equal(t, want, strings.Count(junit.String(), "<failure "), junit.String())
		require.Equal(t, 4-want, strings.Count(junit.String(), "<system-out>FAIL"), "a weaker one is output")
		require.NoError(t, r.writeAnnotations(&annotations))
		require.Equal(t, want, strings.Count("\n"+annotations.String(), "\n::error "), annotations.String())
		require.Equal(t, 4-want, strings.Count("\n"+annotations.String(), "\n::warning "))
		require.NoError(t, r.writeText(&quiet, true))
		require.Equal(t, want, strings.Count(quiet.String(), "FAIL  "))
		require.NotContains(t, quiet.String(), "note  ")
	}
	clean := prove.Reports{{Tool: "deploy", Findings: []prove.Finding{{Rule: prove.Rules()[0], Outcome: prove.Pass}}}}
	require.Equal(t, statusClean, newReport(clean, prove.Should, nil).status())
}

// A run that tried nothing, or that ended early, is no success in any format.
func TestFormatsSayThatNothingWasProved(t *testing.T) {
	skipped := prove.Reports{{Tool: "deploy", Findings: []prove.Finding{{Rule: prove.Rules()[0], Outcome: prove.Skip}}}}
	for _, tc := range []struct {
		explanation string
		reports     prove.Reports
		err         error
		says        string
	}{
		{"no server", nil, errors.New("prove: no connection"), "no connection"},
		{"every rule was skipped", skipped, nil, "every rule was skipped"},
		{"ended early", found(), errors.New("deadline exceeded"), "deadline exceeded"},
	} {
		r := newReport(tc.reports, prove.Should, tc.err)
		require.Equal(t, statusMisused, r.status(), tc.explanation)
		var text, junit, sarif, annotations strings.Builder
		require.NoError(t, errors.Join(r.writeJSON(&text), r.writeJUnit(&junit), r.writeSARIF(&sarif), r.writeAnnotations(&annotations)))
		for _, format := range []string{text.String(), junit.String(), sarif.String(), annotations.String()} {
			require.Contains(t, format, tc.says, tc.explanation)
			require.NotContains(t, format, "prove: no connection")
		}
		require.Contains(t, junit.String(), `errors="1"`)
		require.Contains(t, text.String(), `"reports": [`)
	}
}

// What SARIF 2.1.0 requires, and what GitHub requires beyond it to show a result.
func TestSARIFIsWellFormed(t *testing.T) {
	r := newReport(found(), prove.Should, nil)
	r.file = "server/deploy.go"
	var text strings.Builder
	require.NoError(t, r.writeSARIF(&text))
	var log map[string]any
	require.NoError(t, json.Unmarshal([]byte(text.String()), &log))
	require.Equal(t, "2.1.0", log["version"])
	require.Equal(t, "https://json.schemastore.org/sarif-2.1.0.json", log["$schema"])
	at := func(v any, path ...any) any {
		for _, step := range path {
			switch step := step.(type) {
			case int:
				require.Greater(t, len(v.([]any)), step, "%v", path)
				v = v.([]any)[step]
			case string:
				require.Contains(t, v, step, "%v", path)
				v = v.(map[string]any)[step]
			}
		}
		return v
	}
	run := at(log, "runs", 0)
	require.Equal(t, "mrtr", at(run, "tool", "driver", "name"))
	require.NotEmpty(t, at(run, "tool", "driver", "version"))
	require.Equal(t, true, at(run, "invocations", 0, "executionSuccessful"))
	rules := at(run, "tool", "driver", "rules").([]any)
	ids := map[string]bool{}
	for _, rule := range rules {
		id := at(rule, "id").(string)
		require.False(t, ids[id], "%s twice", id)
		ids[id] = true
		require.NotEmpty(t, at(rule, "shortDescription", "text"))
		require.NotEmpty(t, at(rule, "fullDescription", "text"))
		require.Contains(t, []any{"error", "warning", "note"}, at(rule, "defaultConfiguration", "level"))
	}
	results := at(run, "results").([]any)
	require.Len(t, results, 4, "the failures alone")
	fingerprints := map[any]bool{}
	for _, result := range results {
		index := int(at(result, "ruleIndex").(float64))
		require.Equal(t, at(rules, index, "id"), at(result, "ruleId"))
		require.Equal(t, at(rules, index, "defaultConfiguration", "level"), at(result, "level"))
		require.NotEmpty(t, at(result, "message", "text"))
		require.Equal(t, "server/deploy.go", at(result, "locations", 0, "physicalLocation", "artifactLocation", "uri"))
		require.NotEmpty(t, at(result, "locations", 0, "logicalLocations", 0, "name"))
		fingerprints[at(result, "partialFingerprints", "toolAndRule/v1")] = true
	}
	require.Len(t, fingerprints, len(results))
	require.Equal(t, "error", at(results, 0, "level"))
	require.Contains(t, at(rules, 0, "helpUri"), "/basic/patterns/mrtr#")
	require.Contains(t, at(rules, 0, "fullDescription", "text"), "MUST reject state that fails verification")
}

// A server's text is no command of the CI that prints it.
func TestAnnotationsAreEscaped(t *testing.T) {
	r := newReport(found(), prove.Should, nil)
	r.file = "a,b:c.go"
	var text strings.Builder
	require.NoError(t, r.writeAnnotations(&text))
	for _, line := range strings.Split(strings.TrimSpace(text.String()), "\n") {
		require.Regexp(t, `^::(error|warning) file=a%2Cb%3Ac\.go,title=[^:,]+::FAIL  `, line)
	}
	require.Contains(t, text.String(), "%0A::error::100%25 of it")
}
