package mrtrtest

import (
	"testing"
	"time"

	"github.com/mrtr-go/sdk/prove"
)

// Scenario is the call that is proved. Tool is enough where the arguments and the
// answers can be made from the tool's schemas.
type Scenario = prove.Scenario

// Prove tries all rules of package prove against a tool, and two of its own: an
// instance stops soon after its clients have hung up, and leaves no goroutine. Each
// rule is a subtest. One that fails says which promise was broken and shows the
// request that broke it.
//
// The proof runs in a bubble of testing/synctest, where a day is no time at all.
// Build is called there, many times: with the worlds of one deployment, for the
// first instance, for instances that share nothing but its secrets, and for one
// that takes over after a crash; and with the world of another deployment, whose
// states the first must refuse. It takes no channel, timer or network connection
// from outside the bubble.
//
// A crash happens in [World.Effect]: the connections break, and the call of Effect
// does not return before the proof is over. So a tool that has its effect without
// calling Effect is judged without it.
//
// To accept a tool that fails some rules, judge the report of [Examine].
func Prove(t *testing.T, build Build, s Scenario) {
	t.Helper()
	for _, f := range Examine(t, build, s, nil).Findings {
		t.Run(f.Rule.Name, func(t *testing.T) {
			switch f.Outcome {
			case prove.Fail:
				t.Errorf("%s", f)
			case prove.Skip:
				t.Skip(f.Detail)
			case prove.Note:
				t.Logf("%s", f)
			}
		})
	}
}

// Examine is [Prove] without its verdict. It fails the test where nothing could be
// proved: the tool has to complete an honest call first. A nil opts tries every
// rule. The default patience is a minute here, since waiting takes no time.
func Examine(t *testing.T, build Build, s Scenario, opts *prove.Options) *prove.Report {
	t.Helper()
	var o prove.Options
	if opts != nil {
		o = *opts
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	var report *prove.Report
	var err error
	inBubble(t, func(t *testing.T) {
		site := newSite(build)
		report, err = prove.Run(t.Context(), site.subject(), s, &o)
		if died := site.died(); err != nil && died != nil {
			err = died
		}
		findings := site.close()
		if report != nil {
			report.Findings = append(report.Findings, findings...)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}
