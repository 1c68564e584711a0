// Package provetest proves a tool that stops to ask its user, inside go test. It tries the
// rules of package prove against a server of go-sdk, whether its handlers are made with
// package mrtr or written by hand: it alters, cuts, forges and transplants states, lets them
// expire, declines, cancels, leaves out and distorts answers, repeats rounds, moves them to
// other instances, ends the process behind an effect, and comes as clients that cannot be
// asked. A server that offers tasks is tried by their rules too.
//
// The server is built as for package mrtrtest, and tells its [mrtrtest.World] of its effects:
//
//	func TestBook(t *testing.T) {
//		provetest.Prove(t, newDesk, prove.Scenario{
//			Tool:           "book",
//			Arguments:      map[string]any{"to": "Lisbon"},
//			OtherArguments: map[string]any{"to": "Oslo"},
//			Times:          map[string]int{"charge": 1},
//			Repeatable:     true, // it has no store that would know a round that comes again
//		})
//	}
//
// Each rule is a subtest, and a proof takes less than a second. [Examine] returns the report
// instead, for a test that has a verdict of its own.
package provetest

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/prove"
)

// Prove tries the rules of package prove against a tool, and two of its own: an
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
// A crash happens in [mrtrtest.World.Effect]: the connections break, and the call of Effect
// does not return before the proof is over. So a tool that has its effect without
// calling Effect is judged without it.
//
// To accept a tool that fails some rules, judge the report of [Examine].
func Prove(t *testing.T, build mrtrtest.Build, s prove.Scenario) {
	t.Helper()
	for _, f := range Examine(t, build, s, nil).Findings {
		t.Run(f.Rule.Name, func(t *testing.T) {
			switch f.Outcome {
			case prove.Fail:
				t.Errorf("%s%s", f, advice(f.Detail))
			case prove.Skip:
				t.Skip(f.Detail + advice(f.Detail))
			case prove.Note:
				t.Logf("%s", f)
			}
		})
	}
}

// Examine is [Prove] without its verdict. It fails the test if nothing could be
// proved: the tool has to complete an honest call first. A nil opts tries every
// rule. The default patience is a minute here, since waiting takes no time.
func Examine(t *testing.T, build mrtrtest.Build, s prove.Scenario, opts *prove.Options) *prove.Report {
	t.Helper()
	var o prove.Options
	if opts != nil {
		o = *opts
	}
	o.Patience = cmp.Or(o.Patience, time.Minute)
	var report *prove.Report
	var err error
	inBubble(t, func(t *testing.T) {
		here := newSite(build)
		report, err = prove.Run(t.Context(), here.subject(), s, &o)
		if died := here.died(); err != nil && died != nil {
			err = died
		}
		findings := here.close()
		if report != nil {
			report.Findings = append(report.Findings, findings...)
		}
	})
	if err != nil {
		t.Fatalf("%v%s", err, advice(err.Error()))
	}
	return report
}

// fields are those of a Scenario that say what a finding lacks.
var fields = []struct{ says, set string }{
	{"needs other arguments", "OtherArguments"},
	{"needs another tool", "OtherTool"},
	{"instead of", "Times, if a call means to"},
	{"none was counted", "Times, and call World.Effect"},
	{"does not complete", "Arguments and Answers"},
	{"the call asks nothing", "Arguments with which it asks"},
	{"for one yes", "Repeatable, if a round may have its effects again"},
}

// advice names the field to set, if one helps.
func advice(detail string) string {
	for _, f := range fields {
		if strings.Contains(detail, f.says) {
			return "\n        Set Scenario." + f.set + "."
		}
	}
	return ""
}
