package alerts_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// labelsOf are the labels of each metric that was exported, without those that Prometheus adds
// and the one that only rounds of a task have.
func labelsOf(samples []sample) map[string]map[string]bool {
	of := map[string]map[string]bool{}
	for _, s := range samples {
		if of[s.name] == nil {
			of[s.name] = map[string]bool{}
		}
		for label := range s.labels {
			of[s.name][label] = true
		}
	}
	return of
}

var (
	metricName = regexp.MustCompile(`mrtr_[a-z_]+`)
	selector   = regexp.MustCompile(`(mrtr_[a-z_]+)\{([^}]*)\}`)
	grouping   = regexp.MustCompile(`(?:by|on) \(([^)]*)\)`)
)

// requireExported checks that the metrics and the labels of a query are exported.
func requireExported(t *testing.T, of map[string]map[string]bool, promQL string) {
	t.Helper()
	bare := regexp.MustCompile(`\{[^}]*\}|(?:by|on) \([^)]*\)`).ReplaceAllString(promQL, "")
	metrics := metricName.FindAllString(bare, -1)
	require.NotEmpty(t, metrics, promQL)
	for _, metric := range metrics {
		require.Contains(t, of, metric, promQL)
	}
	for _, s := range selector.FindAllStringSubmatch(promQL, -1) {
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			require.True(t, of[s[1]][m[1]], "%s has no label %s: %s", s[1], m[1], promQL)
		}
	}
	for _, group := range grouping.FindAllStringSubmatch(promQL, -1) {
		for _, label := range strings.Split(group[1], ", ") {
			has := slices.ContainsFunc(metrics, func(metric string) bool { return of[metric][label] })
			require.True(t, has, "nothing has a label %s: %s", label, promQL)
		}
	}
}

// Every query of the dashboard, of the rules and of the page asks for what a server exports.
func TestEveryQueryFindsItsMetrics(t *testing.T) {
	of := labelsOf(nightOf(t).samples)
	asked := append(append(panelQueries(t), ruleQueries(t)...), slow...)
	for _, q := range queries {
		asked = append(asked, q.promQL())
	}
	require.Greater(t, len(asked), 30)
	for _, q := range asked {
		requireExported(t, of, q)
	}
}

// panelQueries are those of the dashboard.
func panelQueries(t *testing.T) (all []string) {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(fleet.Must(os.ReadFile("../../docs/alerts/dashboard.json"))(t), &board))
	for _, p := range board.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	require.Greater(t, len(all), 10)
	return all
}

// ruleQueries are those of the rules.
func ruleQueries(t *testing.T) (all []string) {
	text := string(fleet.Must(os.ReadFile("../../docs/alerts/rules.yml"))(t))
	for _, m := range regexp.MustCompile(`(?s)expr: >\n(.*?)\n +(?:for|labels):`).FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Join(strings.Fields(m[1]), " "))
	}
	require.Len(t, all, strings.Count(text, "- alert:"))
	return all
}

// The page has every metric with its labels, the values that are few, and every alert.
func TestThePageIsWhole(t *testing.T) {
	n, page := nightOf(t), readPage(t)
	told := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(mrtr_[a-z_]+)`((?:, `mrtr_[a-z_]+`)*) \\| ([^|]*) \\|").FindAllStringSubmatch(page, -1) {
		for _, name := range metricName.FindAllString(row[1]+row[2], -1) {
			told[name] = row[3]
		}
	}
	common := []string{"mcp_method_name", "mrtr_name", "mrtr_era", "mrtr_task"}
	for metric, labels := range labelsOf(n.samples) {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, "")
		require.Contains(t, told, base)
		for label := range labels {
			switch {
			case label == "instance", label == "le":
			case slices.Contains(common, label):
				require.Contains(t, told[base], "tool", "%s by %s", base, label)
			default:
				require.Contains(t, told[base], "`"+label+"`", base)
			}
		}
	}
	for _, s := range n.samples {
		for label, value := range s.labels {
			switch label {
			case "mrtr_outcome", "mrtr_way", "mrtr_refused", "mrtr_operation", "mrtr_answer":
				require.Contains(t, page, value, label)
			}
		}
	}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(fleet.Must(os.ReadFile("../../docs/alerts/rules.yml"))(t)), -1) {
		require.Contains(t, page, "`"+m[1]+"`")
	}
}
