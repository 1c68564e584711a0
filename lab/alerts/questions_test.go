package alerts_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// query is one of the page's: a sum, or the largest, of what a metric has by some labels.
type query struct {
	question string
	largest  bool
	metric   string // a counter if it ends in _total or _count
	matchers string
	by       []string
	// want is the answer after the night: the labels' values, and the number unless it is a time.
	want []string
}

func (q query) isCounter() bool {
	return strings.HasSuffix(q.metric, "_total") || strings.HasSuffix(q.metric, "_count")
}

// promQL is the query as the page has it.
func (q query) promQL() string {
	selector, over := q.metric, "sum"
	if q.matchers != "" {
		selector += "{" + q.matchers + "}"
	}
	if q.isCounter() {
		selector = "increase(" + selector + "[1h])"
	}
	if q.largest {
		over = "max"
	}
	return fmt.Sprintf("%s by (%s) (%s)", over, strings.Join(q.by, ", "), selector)
}

const which = "Which calls wait for their users?"

// queries answer the questions of an operator by metrics.
var queries = []query{
	{which, false, "mrtr_calls_waiting", "", []string{"mrtr_name", "mrtr_era", "mrtr_way"},
		[]string{"book modern held 1", "export modern task 1", "refund legacy legacy 1"}},
	{"How long?", true, "mrtr_calls_waiting_longest_seconds", "", []string{"mrtr_name", "mrtr_way"},
		[]string{"book held", "export task", "refund legacy"}},
	{"Which were abandoned?", false, "mrtr_calls_abandoned_total", "", []string{"mrtr_name", "mrtr_reason"},
		[]string{"book the server is shutting down 1"}},
	{"Which effects are in doubt?", false, "mrtr_effects_total", `mrtr_outcome=~"in doubt|not undone"`, []string{"mrtr_name", "mrtr_effect", "mrtr_outcome"},
		[]string{"charge charge in doubt 1"}},
	{"Which tool asks again?", false, "mrtr_reasks_total", "", []string{"mrtr_name", "mrtr_question", "mrtr_reason"},
		[]string{"refund sure it does not fit 1"}},
	{"Which instance holds handlers?", false, "mrtr_frames_held", "", []string{"instance"},
		[]string{"a 1", "b 0", "c 0"}},
	{"Is the store slow?", false, "mrtr_store_duration_seconds_count", `mrtr_outcome="failed"`, []string{"mrtr_operation"},
		[]string{"create 1"}},
	{"Why were requests refused?", false, "mrtr_refusals_total", "", []string{"mrtr_refused", "mrtr_reason"},
		[]string{"round store_unavailable 1", "state malformed 1"}},
	{"Why were requests refused?", false, "mrtr_door_refusals_total", "", []string{"mrtr_reason"},
		[]string{"ambiguous 2", "host 1", "malformed 1", "origin 1", "share 1", "shutdown 1", "size 1", "version 2"}},
	{"Who approved?", false, "mrtr_answers_total", "", []string{"mrtr_name", "mrtr_question", "mrtr_answer"},
		[]string{"charge sure accepted 1", "refund sure accepted 2"}},
	{"Did the deploy lose anything?", false, "mrtr_calls_abandoned_total", `mrtr_reason="the server is shutting down"`, []string{"instance", "mrtr_name"},
		[]string{"c book 1"}},
	{"Did the deploy lose anything?", false, "mrtr_frames_released_total", "", []string{"instance", "mrtr_name"},
		[]string{"c survey 1"}},
}

// slow are the queries over the buckets of a histogram, which promtool alone evaluates.
var slow = []string{
	`histogram_quantile(0.9, sum by (le, mrtr_name) (rate(mrtr_user_wait_seconds_bucket[1h])))`,
	`histogram_quantile(0.99, sum by (le, mrtr_operation) (rate(mrtr_store_duration_seconds_bucket{mrtr_operation!="wait"}[5m])))`,
	`histogram_quantile(0.99, sum by (le, mrtr_name, mrtr_effect) (rate(mrtr_effect_duration_seconds_bucket[5m])))`,
}

// lines answer questions by the log: each expression finds one line of the night.
var lines = map[string][]string{
	"Which effects are in doubt?": {`level=WARN msg="effect in doubt" instance=b .*name=charge .*call=[\w-]+ .*principal=anna .*effect=charge`},
	"Which were abandoned?":       {`level=WARN msg="call abandoned" instance=c .*name=book .*principal=anna reason="the server is shutting down"`},
	"Is the store slow?": {
		`level=WARN msg="store asked" instance=b .*name=refund .*durationMs=([6-9]\d\d|\d{4,})\b.* operation=create`,
		`level=WARN msg="tool call refused" instance=b tool=refund .*reason=store_unavailable .*store_error="connection refused by db.internal:5432"`,
	},
	"Why were requests refused?": {`level=WARN msg="tool call refused" .*round_end="state refused" .*reason=malformed`},
	"Who approved?":              {`level=INFO msg="tool call" instance=b tool=refund .*round_end="call completed" .*round=3 principal=anna .*answered="\[sure: accepted\]"`},
}

func TestTheQuestionsOfANight(t *testing.T) {
	n, page := nightOf(t), readPage(t)
	asked := map[string]bool{}
	for _, q := range queries {
		require.Equal(t, q.want, q.answer(n.samples), q.promQL())
		require.Contains(t, page, "`"+q.promQL()+"`")
		require.Contains(t, page, "| **"+q.question+"**")
		asked[q.question] = true
	}
	require.Len(t, asked, 10)
	for question, expressions := range lines {
		require.True(t, asked[question], question)
		for _, e := range expressions {
			found := slices.DeleteFunc(slices.Clone(n.log), func(line string) bool { return !regexp.MustCompile(e).MatchString(line) })
			require.Len(t, found, 1, "%s in\n%s", e, strings.Join(n.log, "\n"))
		}
	}
	for _, q := range slow {
		require.Contains(t, page, "`"+q+"`")
	}
}

// Each round is one line, of the boundary or of the observer and never of both, and a doubt one
// more.
func TestTheLogOfANight(t *testing.T) {
	n := nightOf(t)
	ends := 0
	for _, line := range n.log {
		require.NotContains(t, line, `msg="call completed"`)
		require.NotContains(t, line, `msg="call stopped"`)
		require.Regexp(t, `durationMs=|msg="(effect in doubt|call abandoned)"`, line)
		if strings.Contains(line, "level=INFO") {
			ends++
		}
	}
	// 5 rounds of refund that ask, one of a legacy client; 2 that complete; book twice, survey and
	// charge; and export, which a request makes a task before its round asks.
	require.Equal(t, 13, ends, strings.Join(n.log, "\n"))
}

// answer evaluates the query over one scrape, in which each counter began at zero.
func (q query) answer(samples []sample) (rows []string) {
	sums, found := map[string]float64{}, []string{}
	for _, s := range samples {
		if s.name != q.metric || !q.matches(s) {
			continue
		}
		values := make([]string, len(q.by))
		for i, label := range q.by {
			values[i] = s.labels[label]
		}
		row := strings.Join(values, " ")
		if _, known := sums[row]; !known {
			found = append(found, row)
		}
		sums[row] += s.value
	}
	slices.Sort(found)
	for _, row := range found {
		if !q.largest {
			row = fmt.Sprintf("%s %v", row, sums[row])
		}
		rows = append(rows, row)
	}
	return rows
}

var matcher = regexp.MustCompile(`(\w+)(=~|!=|!~|=)"([^"]*)"`)

func (q query) matches(s sample) bool {
	for _, m := range matcher.FindAllStringSubmatch(q.matchers, -1) {
		is := regexp.MustCompile("^(?:" + m[3] + ")$").MatchString(s.labels[m[1]])
		if is == strings.HasPrefix(m[2], "!") {
			return false
		}
	}
	return true
}

func readPage(t *testing.T) string {
	t.Helper()
	page := string(fleet.Must(os.ReadFile("../../docs/alerts.md"))(t))
	return strings.ReplaceAll(page, `\|`, "|") // in a table
}
