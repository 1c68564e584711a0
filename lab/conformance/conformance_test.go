// Package conformance_test runs the official suite, at a pinned version, against command server.
package conformance_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// A set are the requirements of one revision for a server. The suite runs more
// scenarios and does not score those: extensions, and scenarios that came later.
type set struct {
	revision       string
	required       int
	unscored       int // scenarios that it runs besides
	unscoredPassed int
	tasks          map[string]int // checks of each scenario of the tasks extension, all of which succeed
	warnings       []string       // in required scenarios, each as "scenario: check"
	explanation    string
}

var sets = []set{
	{
		revision: "2026-07-28", required: 37, unscored: 13, unscoredPassed: 12,
		tasks: map[string]int{
			"tasks-lifecycle": 9, "tasks-capability-negotiation": 5, "tasks-wire-fields": 4,
			"tasks-request-state-removal": 3, "tasks-mrtr-input": 4, "tasks-request-headers": 5,
			"tasks-dispatch-and-envelope": 9, "tasks-required-task-error": 3, "tasks-mrtr-composition": 2,
			"tasks-status-notifications": 0, // the suite skips it
		},
		warnings: []string{"input-required-result-ignore-extra-params: sep-2322-ignore-unexpected-params"},
		explanation: "The suite sends an answer with a first call, to a question that nobody has asked, without a state. " +
			"The engine takes answers only to what it asked, so it asks; the suite would rather see a result. " +
			"Unscored and not passing is the scenario that the suite skips.",
	},
	{
		revision: "2025-11-25", required: 30, unscored: 3, unscoredPassed: 2,
		tasks:       map[string]int{},
		explanation: "Unscored and not passing is resuming a broken stream, which the handler does not offer.",
	},
}

// subjects are the servers that the suite is run against.
var subjects = []struct {
	name string
	args []string // of the program
}{
	{"server", nil},
	{"server behind the boundary", []string{"-boundary"}},
	{"server with StockFront", []string{"-stock-front"}},
}

// TestConformance runs the suite: one server for both revisions, on one URL, with
// the boundary and without it, with go-sdk's HTTP layer in front of every call and
// without it.
func TestConformance(t *testing.T) {
	suite := findSuite(t)
	server := fleet.Build(t, "server")
	summary := []string{"subject                     revision    required  passed  not scored  passed  warnings"}
	passed := 0
	for _, subject := range subjects {
		url := fleet.Listen(t, exec.Command(server, subject.args...))
		for _, s := range sets {
			t.Run(subject.name+"/"+s.revision, func(t *testing.T) {
				got := suite.run(t, s.revision, url)
				summary = append(summary, fmt.Sprintf("%-26s  %s  %8d  %6d  %10d  %6d  %8d",
					subject.name, s.revision, got.required, got.passed, got.unscored, got.unscoredPassed, len(got.warnings)))
				passed += got.passed
				require.Empty(t, got.failures, "scenarios that must not fail")
				require.NoError(t, got.verdict, "the suite's own verdict")
				require.Equal(t, s.required, got.required, "how many required scenarios ran")
				require.Equal(t, s.required, got.passed, "how many of them passed")
				require.Equal(t, s.unscored, got.unscored, "how many more ran")
				require.Equal(t, s.unscoredPassed, got.unscoredPassed, "how many of those passed: %s", s.explanation)
				require.Equal(t, s.tasks, got.tasks, "how many checks of the tasks extension succeeded")
				require.Equal(t, s.warnings, got.warnings, s.explanation)
			})
		}
	}
	t.Logf("\n%s", strings.Join(summary, "\n"))
	require.Equal(t, 3*67, passed, "all required scenarios, of each server")
}
