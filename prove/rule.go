package prove

import (
	"fmt"
	"slices"
	"strings"
)

// Level says who demands a rule.
type Level string

// The levels, from the strongest to the weakest. A Promise is demanded by the person who is
// asked: nothing happens without their yes, nothing after their no, and nothing twice.
const (
	Must    Level = "MUST"
	Promise Level = "promise"
	Should  Level = "SHOULD"
	Ours    Level = "ours"
)

var levels = []Level{Must, Promise, Should, Ours}

// Covers reports whether a run at this level tries the rules of the other one.
func (l Level) Covers(other Level) bool {
	return slices.Index(levels, l) >= slices.Index(levels, other)
}

// Outcome is how a rule came out.
type Outcome string

// The outcomes.
const (
	Pass Outcome = "pass"
	Fail Outcome = "FAIL"
	Note Outcome = "note" // worth knowing, and not forbidden
	Skip Outcome = "skip" // not tried: an ability is missing, or the tool gives no occasion
	Try  Outcome = "try"  // to be tried, says a dry run
)

// Rule is one thing that a server must do.
type Rule struct {
	Name   string `json:"name"` // group/attack
	Says   string `json:"says"` // the promise, in one sentence
	Level  Level  `json:"level"`
	Clause Clause `json:"clause"` // where it is demanded
	Cure   string `json:"cure,omitempty"`

	needs []*ability
	try   func(*trial)
}

// Group is the part of the name before the slash.
func (r Rule) Group() string {
	group, _, _ := strings.Cut(r.Name, "/")
	return group
}

// Rules are the rules for any server, in the order in which they are tried.
func Rules() []Rule {
	return slices.Concat(stateRules, answerRules, consentRules, onceRules, clientRules, resultRules, serverRules, lastRules)
}

// TaskRules are the rules for a server that offers tasks (SEP-2663). They are tried before
// those of the group server.
func TaskRules() []Rule { return slices.Clone(taskRules) }

// everyRule has those of tasks in their place.
func everyRule() []Rule {
	all := Rules()
	return slices.Insert(all, len(all)-len(serverRules)-len(lastRules), taskRules...)
}

// selected are the rules that the options ask for.
func selected(only []string, level Level) ([]Rule, error) {
	known := map[string]bool{}
	for _, r := range everyRule() {
		known[r.Name], known[r.Group()] = true, true
	}
	wanted := map[string]bool{}
	for _, name := range only {
		if !known[name] {
			return nil, fmt.Errorf("prove: there is no rule and no group %q", name)
		}
		wanted[name] = true
	}
	var chosen []Rule
	for _, r := range everyRule() {
		if level.Covers(r.Level) && (len(wanted) == 0 || wanted[r.Name] || wanted[r.Group()]) {
			chosen = append(chosen, r)
		}
	}
	return chosen, nil
}

// ability is something that a subject or a scenario may have, and that a rule may need.
type ability struct {
	name string
	flag string // of mrtr prove that gives it; "" if none does
	has  func(*prover) bool
}

var (
	counts         = &ability{"a count of the effects", "-effects", func(p *prover) bool { return p.subject.Effects != nil }}
	elsewhere      = &ability{"another instance with the same secrets", "-fresh or -secret", func(p *prover) bool { return p.subject.Fresh != nil }}
	otherSecrets   = &ability{"a server with other secrets", "-stranger or -secret", func(p *prover) bool { return p.subject.Stranger != nil }}
	otherCaller    = &ability{"a second caller", "-other-token or -other-header", func(p *prover) bool { return p.subject.Other != nil }}
	expiry         = &ability{"a way to let states expire", "-brief", func(p *prover) bool { return p.subject.Expire != nil }}
	otherArguments = &ability{"other arguments", "-other-arguments", func(p *prover) bool { return p.scenario.OtherArguments != nil }}
	otherTool      = &ability{"another tool", "-other-tool", func(p *prover) bool { return p.scenario.OtherTool != "" }}
	crashes        = &ability{"a server that can be made to die behind its effect", "", func(p *prover) bool { return p.subject.CrashAtEffect != nil && p.subject.Revive != nil }}
	held           = &ability{"a count of what the server holds", "", func(p *prover) bool { return p.subject.Held != nil }}
	headers        = &ability{"a server over HTTP", "", func(p *prover) bool { return p.subject.HTTP }}
)

// lacks is the finding about a rule that needs an ability which the subject has not.
func (p *prover) lacks(r Rule) (f Finding, lacks bool) {
	for _, a := range r.needs {
		if !a.has(p) {
			return Finding{Rule: r, Outcome: Skip, Detail: "needs " + a.name, Lacks: a.name, Flag: a.flag}, true
		}
	}
	return f, false
}
