package alerts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// promtool runs Prometheus' own tool, or skips.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func needPromtool(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err == nil {
		return
	}
	if os.Getenv("MRTR_CI") == "1" {
		t.Fatal("promtool is missing: lab/alerts/install brings it")
	}
	t.Skip("install promtool, of Debian's package prometheus, to check the rules")
}

// The rules are rules, and each fires for its event.
func TestTheRules(t *testing.T) {
	needPromtool(t)
	promtool(t, "check", "rules", "../../docs/alerts/rules.yml")
	promtool(t, "test", "rules", "rules_test.yml")
}

// Prometheus gives the answers that the page promises, and has something to show in every panel,
// when it reads what the servers of a night export: each counter from zero.
func TestPrometheusAnswers(t *testing.T) {
	needPromtool(t)
	n := nightOf(t)
	var b strings.Builder
	b.WriteString("evaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n")
	for _, s := range n.samples {
		first := s.value
		for _, suffix := range []string{"_total", "_bucket", "_count", "_sum"} {
			if strings.HasSuffix(s.name, suffix) {
				first = 0
			}
		}
		fmt.Fprintf(&b, "      - {series: %s, values: '%v %vx4'}\n", quote(s.series()), first, s.value)
	}
	b.WriteString("    promql_expr_test:\n")
	expect := func(expr string, rows ...string) {
		fmt.Fprintf(&b, "      - expr: %s\n        eval_time: 5m\n        exp_samples:\n%s", quote(expr), strings.Join(rows, ""))
	}
	for _, q := range queries {
		var rows []string
		for _, row := range q.want {
			labels, value := row, ""
			if !q.largest {
				at := strings.LastIndex(row, " ")
				labels, value = row[:at], row[at+1:]
			} else {
				value = "1"
			}
			rows = append(rows, fmt.Sprintf("          - {labels: %s, value: %s}\n", quote(q.labels(n.samples, labels)), value))
		}
		expr := q.promQL()
		if q.largest { // how long is not the same twice
			expr += " > bool 0"
		}
		expect(expr, rows...)
	}
	for _, expr := range append(panelQueries(t), slow...) {
		expect("count("+strings.ReplaceAll(expr, "$__rate_interval", "5m")+") > bool 0", "          - {labels: '{}', value: 1}\n")
	}
	file := filepath.Join(t.TempDir(), "night.yml")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	promtool(t, "test", "rules", file)
}

// labels are those of the row that has these values.
func (q query) labels(samples []sample, values string) string {
	for _, s := range samples {
		if s.name != q.metric || !q.matches(s) {
			continue
		}
		var found, pairs []string
		for _, label := range q.by {
			found = append(found, s.labels[label])
			pairs = append(pairs, fmt.Sprintf("%s=%q", label, s.labels[label]))
		}
		if strings.Join(found, " ") == values {
			return "{" + strings.Join(pairs, ",") + "}"
		}
	}
	return "{}"
}

// quote is a text in YAML.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
