package prove

import (
	"context"
	"errors"
	"fmt"
)

// A rule calls the tool a few times, and plays it up to each of its questions. These are
// the means of the rules over our styles and the servers of others.
const (
	callsOfRule        = 8
	callsOfRuleFurther = 6
	effectsOfRule      = 2
)

// foresee says what would be tried. It asks the server for its list of tools, and calls none.
func (p *prover) foresee(ctx context.Context, rules []Rule) (*Report, error) {
	f := p.try(ctx, Rule{try: func(t *trial) { t.look(t.client()) }})
	if f.Outcome != Pass {
		return nil, errors.New("prove: nothing could be proved: " + f.Detail)
	}
	report := &Report{Tool: p.scenario.Tool, dry: true}
	for _, rule := range rules {
		if p.leaves(rule) {
			continue
		}
		f, lacks := p.lacks(rule)
		if !lacks {
			f = toTry(rule)
		}
		report.Findings = append(report.Findings, f)
	}
	report.Calls = report.Count(Try) * callsOfRule
	return report, ctx.Err()
}

func toTry(rule Rule) Finding { return Finding{Rule: rule, Outcome: Try, Detail: rule.Says} }

// plan says in a line how much would be done.
func (r *Report) plan() string {
	n := r.Count(Try)
	text := fmt.Sprintf("%s: %s, about %s", title(r.Tool, r.Client), numbered(n, "rule"), numbered(r.Calls, "call"))
	if r.Client == "" {
		text += fmt.Sprintf(" if it asks once, %d more for each further question; up to %s", n*callsOfRuleFurther, numbered(n*effectsOfRule, "effect"))
	}
	return text + "\n"
}
