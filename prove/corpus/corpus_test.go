package main

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// nightly proves the corpus in all languages. Otherwise the servers in Go are proved, which need
// nothing that a clone does not have.
var nightly = os.Getenv("MRTR_NIGHTLY") == "1"

// What a verdict of the prover has to be worth.
const (
	leastRecall      = 0.95
	leastRecallAlone = 0.85
)

func TestTheProverIsRight(t *testing.T) {
	chosen, designs, leastCorrect, leastMistakes := []*language{golang}, 1, 8, 35
	if nightly {
		require.NoError(t, installed(), "./lab/interop/install installs Node; Python 3.11 is needed beside it")
		chosen, designs, leastCorrect, leastMistakes = languages, 2, 15, 60
	}
	all := servers(chosen, designs)
	programs, end, err := startAll(chosen)
	require.NoError(t, err)
	defer end()
	require.NotEmpty(t, all)
	results := judge(t.Context(), programs, all, false, 2*runtime.GOMAXPROCS(0))
	var report strings.Builder
	write(&report, results, true)
	for able, least := range map[bool]float64{true: leastRecall, false: leastRecallAlone} {
		s := scoreOf(results, able)
		require.Zero(t, s.accused, "a correct server was condemned\n%s", report.String())
		require.Zero(t, s.unproved, report.String())
		require.GreaterOrEqual(t, s.recall(), least, report.String())
		require.GreaterOrEqual(t, s.correct, leastCorrect)
		require.GreaterOrEqual(t, len(s.mistakes), leastMistakes)
	}
	t.Log("\n" + scoreOf(results, true).String() + scoreOf(results, false).String())
}

// installed returns an error that names what is missing.
func installed() error {
	for _, l := range []*language{python, typescript} {
		program, _, err := l.command()
		if err != nil {
			return err
		}
		if l == typescript {
			return stripsTypes(program)
		}
	}
	return nil
}

var version = regexp.MustCompile(`^v(\d+)\.(\d+)`)

// stripsTypes returns an error if Node runs no TypeScript by itself.
func stripsTypes(node string) error {
	output, err := exec.Command(node, "--version").Output()
	if err != nil {
		return err
	}
	if m := version.FindStringSubmatch(string(output)); m != nil {
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		if major > 22 || major == 22 && minor >= 18 {
			return nil
		}
	}
	return &exec.Error{Name: node, Err: exec.ErrNotFound}
}

// A mistake that no design has, or that a rule should find which is not there, would go unnoticed.
func TestEveryMistakeNamesItsDesignsAndRules(t *testing.T) {
	known := map[string]bool{}
	for _, r := range prove.Rules() {
		known[r.Name] = true
	}
	for _, l := range languages {
		designs, names := map[string]bool{}, map[string]bool{}
		for _, d := range l.designs {
			designs[d.name] = true
		}
		require.NotEmpty(t, l.mistakes)
		for _, m := range l.mistakes {
			require.False(t, names[m.name], "%s is there twice", m.name)
			names[m.name] = true
			require.NotEmpty(t, m.right(), m.name)
			for _, rule := range m.right() {
				require.True(t, known[rule], "%s: there is no rule %s", m.name, rule)
			}
			for _, d := range strings.Fields(m.designs) {
				require.True(t, designs[d], "%s: there is no design %s", m.name, d)
			}
		}
	}
}
