package prove_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/prove"
)

// updates says that -update is set, which is a flag of package mrtrtest.
func updates() bool { return flag.Lookup("update").Value.String() == "true" }

// column is a subject of the table.
type column struct {
	title string
	what  string
	// start makes the subject ready, and returns the proof, which may run beside
	// others.
	start func(*testing.T) func() (*prove.Report, error)
}

// columns are the subjects of the table, in groups of one table each.
func columns() map[string][]column {
	ourStyle := func(o options.Option, stored bool) column {
		return column{o.Letter, "`" + o.Name + "`: " + o.Lesson, func(t *testing.T) func() (*prove.Report, error) {
			report := inMemory(t, o, stored)
			return func() (*prove.Report, error) { return report, nil }
		}}
	}
	var ours, stored []column
	for _, o := range slices.Concat(options.All, landmine.All) {
		ours = append(ours, ourStyle(o, false))
		stored = append(stored, ourStyle(o, true))
	}
	foreign := func(title, what string, subject func(*testing.T) prove.Subject, s prove.Scenario) column {
		return column{title, what, func(t *testing.T) func() (*prove.Report, error) {
			started := subject(t)
			return func() (*prove.Report, error) {
				return prove.Run(t.Context(), started, s, &prove.Options{Patience: 30 * time.Second, Level: prove.Should})
			}
		}}
	}
	two := prove.Scenario{
		Tool: "weather", OtherTool: "weather_again",
		Arguments: map[string]any{"location": "Springfield"}, OtherArguments: map[string]any{"location": "Shelbyville"},
		Answers: map[string]any{"place": "Springfield, Illinois", "units": "metric"},
	}
	return map[string][]column{
		"ours":  ours,
		"store": stored,
		"foreign": {
			foreign("1", "go-sdk v1.8.0, the multi-round example of its documentation (`docs/server.md`)", command(documented), prove.Scenario{Tool: "greet", Answers: map[string]any{"user_name": "Ann"}}),
			foreign("2", "go-sdk v1.8.0, its conformance server, the tool that rejects altered states", command(everything), prove.Scenario{Tool: "test_input_required_result_tampered_state"}),
			foreign("3", "go-sdk v1.8.0, its conformance server, the tool of two rounds", command(everything), prove.Scenario{Tool: "test_input_required_result_multi_round"}),
			foreign("4", "mcp-go v1.2.1, its example `multi_round_trip`", command(exampleOfMCPGo), prove.Scenario{
				Tool: "deploy", Arguments: map[string]any{"environment": "production"}, OtherArguments: map[string]any{"environment": "staging"},
			}),
			foreign("5", "TypeScript SDK 2.4.0, a tool of two rounds with its state codec, as its documentation uses it (`lab/interop/peers/typescript-server`)", typescript, two),
		},
	}
}

const (
	tablesPage   = "../docs/prove.md"
	findingsPage = "../docs/prove-findings.md"
)

// The tables of docs/prove.md about rules and our styles agree with a run. To write the tables of
// both pages anew, in this module: MRTR_NIGHTLY=1 go test . -run Tables -update
func TestTheTablesOfTheDocumentation(t *testing.T) {
	page := readPage(t, tablesPage)
	ours := columns()["ours"]
	reports := proveAll(t, ours)
	page.put(t, "ours", legend(ours)+"\n"+table(ours, reports, notable(reports)))
	page.put(t, "rules", ruleList())
	page.put(t, "clauses", clauseList())
	page.settle(t)
	t.Run("with a store, and of other servers", func(t *testing.T) {
		onlyNightly(t)
		tablesOfTheNight(t, reports)
	})
}

// tablesOfTheNight are those of our styles with a store and of the servers of others, and the
// failures that docs/prove-findings.md quotes.
func tablesOfTheNight(t *testing.T, ours []*prove.Report) {
	require.Empty(t, missing())
	groups := columns()
	tables, findings := readPage(t, tablesPage), readPage(t, findingsPage)
	stored := proveAll(t, groups["store"])
	tables.put(t, "store", table(groups["store"], stored, differing(ours, stored)))
	foreign := proveAll(t, groups["foreign"])
	tables.put(t, "foreign", legend(groups["foreign"])+"\n"+table(groups["foreign"], foreign, notable(foreign)))
	findings.put(t, "findings", quotes(groups["foreign"], foreign))
	condemned := 0
	for _, r := range foreign {
		if len(r.Failures(prove.Must)) > 0 {
			condemned++
		}
	}
	require.GreaterOrEqual(t, condemned, 3)
	tables.settle(t)
	findings.settle(t)
}

// settle writes the page if -update is set, and otherwise fails with the first line that a run
// would write differently.
func (p *page) settle(t *testing.T) {
	t.Helper()
	if updates() && !t.Failed() {
		require.NoError(t, os.WriteFile(p.path, []byte(p.written), 0o644))
		return
	}
	const remedy = "%s, line %d; if this change is intended: MRTR_NIGHTLY=1 go test . -run Tables -update"
	text, written := strings.Split(p.text, "\n"), strings.Split(p.written, "\n")
	for i := range min(len(text), len(written)) {
		require.Equal(t, written[i], text[i], remedy, p.path, i+1)
	}
	require.Len(t, text, len(written), remedy, p.path, len(text))
}

// proveAll proves the subjects side by side, since they mostly wait.
func proveAll(t *testing.T, columns []column) []*prove.Report {
	t.Helper()
	reports, errs := make([]*prove.Report, len(columns)), make([]error, len(columns))
	var all sync.WaitGroup
	for i, c := range columns {
		run := c.start(t)
		all.Go(func() { reports[i], errs[i] = run() })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	return reports
}

// page is a document of which a run writes parts.
type page struct{ path, text, written string }

func readPage(t *testing.T, path string) *page {
	t.Helper()
	text := must(os.ReadFile(path))(t)
	return &page{path, string(text), string(text)}
}

// put replaces the part of the page with a name.
func (p *page) put(t *testing.T, name, part string) {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(p.written, begin)
	require.True(t, ok, "%s: %s", p.path, begin)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s: %s", p.path, end)
	p.written = before + begin + "\n" + part + "\n" + end + after
}

// differing are the rules that came out otherwise for one of the subjects.
func differing(before, after []*prove.Report) []prove.Rule {
	return slices.DeleteFunc(prove.Rules(), func(r prove.Rule) bool {
		for i := range after {
			b, _ := before[i].Of(r.Name)
			a, _ := after[i].Of(r.Name)
			if a.Outcome != b.Outcome {
				return false
			}
		}
		return true
	})
}

// notable are the rules that did not simply pass, or go untried, with every subject.
func notable(reports []*prove.Report) []prove.Rule {
	return slices.DeleteFunc(prove.Rules(), func(r prove.Rule) bool {
		for _, report := range reports {
			if f, _ := report.Of(r.Name); f.Outcome == prove.Fail || f.Outcome == prove.Note {
				return false
			}
		}
		return true
	})
}

var marks = map[prove.Outcome]string{prove.Pass: "·", prove.Fail: "**FAIL**", prove.Note: "note", prove.Skip: "–"}

// legend says which subject each column is.
func legend(columns []column) string {
	var b strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&b, "- **%s**: %s\n", c.title, c.what)
	}
	return b.String()
}

func table(columns []column, reports []*prove.Report, rules []prove.Rule) string {
	var b strings.Builder
	b.WriteString("| rule | level |")
	for _, c := range columns {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| `%s` | %s |", r.Name, r.Level)
		for _, report := range reports {
			f, _ := report.Of(r.Name)
			b.WriteString(" " + marks[f.Outcome] + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("| failed | |")
	for _, report := range reports {
		fmt.Fprintf(&b, " %d |", report.Count(prove.Fail))
	}
	return b.String() + "\n"
}

func ruleList() string {
	var b strings.Builder
	b.WriteString("| rule | level | promise | clause |\n|---|---|---|---|\n")
	for _, r := range slices.Concat(prove.Rules(), prove.TaskRules()) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, r.Level, r.Says, r.Clause)
	}
	return b.String()
}

// clauseList has the words behind each clause, in the order of the rules.
func clauseList() string {
	var b strings.Builder
	listed := map[prove.Clause]bool{}
	for _, r := range allRules() {
		if source := r.Clause.Source(); source.URL != "" && !listed[r.Clause] {
			listed[r.Clause] = true
			fmt.Fprintf(&b, "- [%s](%s): “%s”\n", r.Clause, source.URL, source.Quote)
		}
	}
	return b.String()
}
