package prove_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// breaking says, of each rule, what the tool of the world does that is broken for
// it. The rules beside it that are broken by the same mistake are named; any other
// is a failure of the test.
var breaking = []struct {
	rule        string
	explanation string
	also        []string
}{}

// The bare tool is safe as it stands.
func TestASafeToolPassesEveryRule(t *testing.T) {
	report := proved(t, "", strict)
	for _, f := range report.Findings {
		require.Contains(t, []prove.Outcome{prove.Pass, prove.Skip}, f.Outcome, f.String())
	}
	require.Equal(t, len(prove.Rules()), len(report.Findings))
	t.Log("\n" + report.String())
}

func TestEveryRuleCondemnsWhatBreaksIt(t *testing.T) {
	for _, r := range prove.Rules() {
		t.Run(r.Name, func(t *testing.T) {
			report := proved(t, r.Name, strict)
			var failed []string
			for _, f := range report.Findings {
				if f.Outcome == prove.Fail || f.Outcome == prove.Note {
					failed = append(failed, f.Rule.Name)
					t.Log(f)
				}
			}
			require.Contains(t, failed, r.Name)
			if len(failed) > 1 {
				t.Log("ALSO", r.Name, failed)
			}
		})
	}
}

// proved proves the tool of a world in a bubble, where an hour passes at once.
func proved(t *testing.T, broken string, s prove.Scenario) (report *prove.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		report, err = prove.Run(t.Context(), newWorld(broken).subject(), s, &prove.Options{Patience: 5 * time.Second})
		require.NoError(t, err)
	})
	return report
}
