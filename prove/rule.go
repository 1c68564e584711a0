package prove

import (
	"fmt"
	"slices"
	"strings"
)

// Level says who demands a rule.
type Level string

// The levels, from the strongest to the weakest.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	Ours   Level = "ours"
)

// Covers reports whether a run at this level tries the rules of the other one.
func (l Level) Covers(other Level) bool { return l.rank() >= other.rank() }

func (l Level) rank() int {
	switch l {
	case Must:
		return 0
	case Should:
		return 1
	}
	return 2
}

// Outcome is how a rule came out.
type Outcome string

// The outcomes.
const (
	Pass Outcome = "pass"
	Fail Outcome = "FAIL"
	Note Outcome = "note" // worth knowing, and not forbidden
	Skip Outcome = "skip" // not tried: an ability is missing, or the tool gives no occasion
)

// Rule is one thing that a server must do.
type Rule struct {
	Name   string `json:"name"` // group/attack
	Says   string `json:"says"` // the promise, in one sentence
	Level  Level  `json:"level"`
	Clause Clause `json:"clause"` // where it is demanded

	try func(*trial)
}

// Group is the part of the name before the slash.
func (r Rule) Group() string {
	group, _, _ := strings.Cut(r.Name, "/")
	return group
}

// Rules are the rules for any server, in the order in which they are tried.
func Rules() []Rule {
	return slices.Concat(stateRules, answerRules, roundRules, effectRules, clientRules, inputRules, resultRules, serverRules)
}

// TaskRules are the rules for a server that offers tasks (SEP-2663). They are tried before
// those of the group server.
func TaskRules() []Rule { return slices.Clone(taskRules) }

// everyRule has those of tasks in their place.
func everyRule() []Rule {
	all := Rules()
	return slices.Insert(all, len(all)-len(serverRules), taskRules...)
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
