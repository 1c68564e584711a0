package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A set are the requirements of one revision for one role. The suite runs more
// scenarios and does not score those: extensions, and scenarios that came later.
type set struct {
	role, revision string
	required       int
	unscored       int // scenarios that it runs besides
	unscoredPassed int
	warnings       []string // in required scenarios, each as "scenario: check"
	explanation    string
}

var sets = []set{
	{
		role: "server", revision: "2026-07-28", required: 37, unscored: 13, unscoredPassed: 3,
		warnings: []string{"input-required-result-ignore-extra-params: sep-2322-ignore-unexpected-params"},
		explanation: "The suite sends an answer with a first call, to a question that nobody has asked, without a state. " +
			"The engine takes answers only to what it asked, so it asks; the suite would rather see a result. " +
			"Unscored and failing are the ten of the tasks extension.",
	},
	{
		role: "server", revision: "2025-11-25", required: 30, unscored: 3, unscoredPassed: 2,
		explanation: "Unscored and not passing is resuming a broken stream, which the handler does not offer.",
	},
	{
		role: "client", revision: "2026-07-28", required: 32, unscored: 7, unscoredPassed: 1,
		explanation: "Unscored and failing are six ways to a token that go-sdk's client does not know.",
	},
	{
		role: "client", revision: "2025-11-25", required: 18, unscored: 7, unscoredPassed: 1,
		explanation: "The same six.",
	},
}

// subjects are the servers that the suite is run against.
var subjects = []struct {
	name, role string
	args       []string // of the program
	ours       bool     // whether it is made with this module at all
}{
	{"server", "server", nil, true},
	{"server behind the boundary", "server", []string{"-boundary"}, true},
	{"server with StockFront", "server", []string{"-stock-front"}, true},
	{"go-sdk's client", "client", nil, false},
}

// TestConformance runs the suite: one server for both revisions, on one URL, with
// the boundary and without it, with go-sdk's HTTP layer in front of every call and
// without it, and a client process for each scenario. The client is go-sdk's alone, so
// its figure says nothing of this module, and is counted apart.
func TestConformance(t *testing.T) {
	suite := findSuite(t)
	server, client := build(t, "./server"), build(t, "./client")
	summary := []string{"subject                     revision    required  passed  not scored  passed  warnings"}
	ours, others := 0, 0
	for _, subject := range subjects {
		target := []string{"client", "--command", client}
		if subject.role == "server" {
			target = []string{"server", "--url", startServer(t, server, subject.args...)}
		}
		for _, s := range sets {
			if s.role != subject.role {
				continue
			}
			t.Run(subject.name+"/"+s.revision, func(t *testing.T) {
				got := suite.run(t, s.revision, target)
				summary = append(summary, fmt.Sprintf("%-26s  %s  %8d  %6d  %10d  %6d  %8d",
					subject.name, s.revision, got.required, got.passed, got.unscored, got.unscoredPassed, len(got.warnings)))
				if subject.ours {
					ours += got.passed
				} else {
					others += got.passed
				}
				require.Empty(t, got.failures, "required scenarios that fail")
				require.NoError(t, got.verdict, "the suite's own verdict")
				require.Equal(t, s.required, got.required, "how many required scenarios ran")
				require.Equal(t, s.required, got.passed, "how many of them passed")
				require.Equal(t, s.unscored, got.unscored, "how many more ran")
				require.Equal(t, s.unscoredPassed, got.unscoredPassed, "how many of those passed: %s", s.explanation)
				require.Equal(t, s.warnings, got.warnings, s.explanation)
			})
		}
	}
	t.Logf("\n%s\n%d required scenarios passed against our server, %d with go-sdk's client, which has nothing of ours",
		strings.Join(summary, "\n"), ours, others)
	require.Equal(t, 3*67, ours, "all required scenarios, of each server")
	require.Equal(t, 50, others, "all required scenarios of a client")
}

// The client's figure is called go-sdk's, in README.md too, as long as the client
// imports nothing of this module.
func TestClientHasNothingOfOurs(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "./client").Output()
	require.NoError(t, err)
	var own []string
	for _, pkg := range strings.Fields(string(output)) {
		if strings.HasPrefix(pkg, "github.com/mrtr-go/sdk/") {
			own = append(own, pkg)
		}
	}
	require.Equal(t, []string{"github.com/mrtr-go/sdk/conformance/client"}, own)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "| go-sdk's client, nothing of ours |")
}
