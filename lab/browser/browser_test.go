// Package browsertest plays the demo's page in a real Chromium.
package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// seen is the browser test's verdict on one check.
type seen struct {
	Name  string
	Error string
	Data  json.RawMessage
}

// TestThePageInABrowser plays the page in a real Chromium: browsertest/check.mjs
// drives it, and each of its checks is a test here.
func TestThePageInABrowser(t *testing.T) {
	needsABrowser(t)
	binary := fleet.Build(t, "../../cmd/weather-demo")
	checked := map[string]seen{}
	for _, c := range checksOn(t, binary, fleet.Listen(t, exec.Command(binary, "page"))) {
		checked[c.Name] = c
		t.Run(c.Name, func(t *testing.T) { require.Empty(t, c.Error) })
	}
	looks := 0
	for name := range checked {
		if strings.HasPrefix(name, "axe/") {
			looks++
		}
	}
	t.Logf("%d checks, of them %d looks with axe", len(checked), looks)
	require.Equal(t, 20*9, looks, "looks with axe: states in settings")
	require.Greater(t, len(checked), 310, "checks: each style's calls to their end, the looks, the labels in each state, and more")
	cells := 0
	for _, name := range []string{"attacks", "attacks with a store", "late attacks", "late attacks with a store"} {
		var played struct{ Cells int }
		require.NoError(t, json.Unmarshal(checked[name].Data, &played), name)
		require.NotZero(t, played.Cells, name)
		cells += played.Cells
	}
	require.Equal(t, 12*13*4, cells, "attacks on styles, with and without a store, with an early and a late charge")
	var read struct {
		Captions int
		Claims   map[string]int
	}
	require.NoError(t, json.Unmarshal(checked["captions"].Data, &read))
	require.Greater(t, read.Captions, cells, "the cells, and the questions and ends of whole calls")
	t.Logf("read %d captions, %d of them of an attack on a style; they claim %v", read.Captions, cells, read.Claims)
	t.Run("derives what the terminal counts", func(t *testing.T) {
		var drawn struct{ Runs []map[string]any }
		require.NoError(t, json.Unmarshal(checked["matrix"].Data, &drawn))
		counted := countedRuns(t, binary)
		require.Len(t, drawn.Runs, len(counted))
		requireCounts(t, counted, drawn.Runs)
	})
}

// countedRuns are the counts of weather-demo -json.
func countedRuns(t *testing.T, binary string) []map[string]any {
	t.Helper()
	out, err := exec.Command(binary, "-json").Output()
	require.NoError(t, err)
	var counted struct{ Runs []map[string]any }
	require.NoError(t, json.Unmarshal(out, &counted))
	require.NotEmpty(t, counted.Runs)
	return counted.Runs
}

// requireCounts holds the counts that the page drew from messages and events against
// those of weather-demo -json for the same calls.
func requireCounts(t *testing.T, counts, drawn []map[string]any) {
	byCall := map[string]map[string]any{}
	for _, r := range drawn {
		byCall[fmt.Sprint(r["style"], r["era"], r["location"])] = r
	}
	for _, counted := range counts {
		name := fmt.Sprint(counted["style"], counted["era"], counted["location"])
		r := byCall[name]
		require.NotNil(t, r, "the page has no run %s", name)
		for _, figure := range []string{"rounds", "handler_entries", "effects", "state_bytes", "questions", "is_error"} {
			require.Equal(t, counted[figure], r[figure], "%s of %s", figure, name)
		}
	}
}

func checksOn(t *testing.T, binary, url string) []seen {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "check.mjs", url)
	cmd.Env = append(os.Environ(), "WEATHER_DEMO="+binary) // for checks that stop one of their own
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var checks []seen
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		var c seen
		require.NoError(t, json.Unmarshal([]byte(line), &c), line)
		checks = append(checks, c)
	}
	return checks
}

// needsABrowser skips the test where there is none. In CI that is a failure.
func needsABrowser(t *testing.T) {
	t.Helper()
	ci := os.Getenv("MRTR_CI") == "1"
	if testing.Short() && !ci {
		t.Skip("it takes minutes: run without -short")
	}
	chromium := os.Getenv("CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium"
	}
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node"
	} else if _, err := os.Stat("node_modules"); err != nil {
		missing = "the driver"
	} else if _, err := exec.LookPath(chromium); err != nil {
		missing = "Chromium"
	}
	if missing == "" {
		return
	}
	const hint = "run lab/browser/install, which needs Node with npm"
	if ci {
		require.FailNow(t, missing+" is missing: "+hint)
	}
	t.Skipf("%s is missing: %s", missing, hint)
}
