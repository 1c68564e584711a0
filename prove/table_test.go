package prove_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/prove"
)

const tablesPage = "../docs/prove.md"

// The rules and the table of our styles in docs/prove.md agree with a run. To write them anew, in
// this module: go test . -run Tables -update
func TestTheTablesOfTheDocumentation(t *testing.T) {
	text := string(must(os.ReadFile(tablesPage))(t))
	var styles []options.Option
	var reports []*prove.Report
	for _, o := range slices.Concat(options.All, landmine.All) {
		styles = append(styles, o)
		reports = append(reports, inMemory(t, o, false))
	}
	written := put(t, text, "ours", table(styles, reports))
	written = put(t, written, "rules", ruleList())
	if flag.Lookup("update").Value.String() == "true" && !t.Failed() {
		require.NoError(t, os.WriteFile(tablesPage, []byte(written), 0o644))
		return
	}
	require.Equal(t, written, text, "if this change is intended: go test . -run Tables -update")
}

// put replaces the part of a page with a name.
func put(t *testing.T, page, name, part string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(page, begin)
	require.True(t, ok, begin)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, end)
	return before + begin + "\n" + part + "\n" + end + after
}

var marks = map[prove.Outcome]string{prove.Pass: "·", prove.Fail: "**FAIL**", prove.Note: "note", prove.Skip: "–"}

// table has the rules that did not simply pass, or go untried, with every style.
func table(styles []options.Option, reports []*prove.Report) string {
	var b strings.Builder
	b.WriteString("| rule | level |")
	for _, o := range styles {
		b.WriteString(" " + o.Letter + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(styles)) + "\n")
	for _, r := range prove.Rules() {
		row, notable := "", false
		for _, report := range reports {
			f, _ := report.Of(r.Name)
			row += " " + marks[f.Outcome] + " |"
			notable = notable || f.Outcome == prove.Fail || f.Outcome == prove.Note
		}
		if notable {
			fmt.Fprintf(&b, "| `%s` | %s |%s\n", r.Name, r.Level, row)
		}
	}
	return b.String()
}

// ruleList has each rule, with a link to the clause that demands it.
func ruleList() string {
	var b strings.Builder
	for _, r := range slices.Concat(prove.Rules(), prove.TaskRules()) {
		level := string(r.Level)
		if source := r.Clause.Source(); source.URL != "" {
			level = "[" + level + "](" + source.URL + ")"
		}
		fmt.Fprintf(&b, "- `%s`, %s: %s\n", r.Name, level, r.Says)
	}
	return b.String()
}
