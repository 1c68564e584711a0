package prove

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Plan is what a proof, or a sweep of one tool, is going to do.
type Plan struct {
	Tool   string
	Client string // of a sweep
	Tries  []Rule
	// Skips are the rules that will not be tried, with the ability that each lacks.
	Skips []Finding
	// Calls is about how often the tool will be called if it asks one question, and
	// PerQuestion how often more for each further one.
	Calls, PerQuestion int
	// Effects is how often each effect may happen, if the tool repeats it whenever it can.
	Effects int
}

// A rule calls the tool a few times, and plays it up to each of its questions. These are
// the means of the rules over our styles and the servers of others.
const (
	callsOfRule        = 8
	callsOfRuleFurther = 6
	effectsOfRule      = 2
)

// Foresee says what [Run] would do. It asks the server for its list of tools, and calls none.
func Foresee(ctx context.Context, subject Subject, scenario Scenario, opts *Options) (*Plan, error) {
	p, rules, err := newProver(subject, scenario, opts)
	if err != nil {
		return nil, err
	}
	f := p.try(ctx, Rule{try: func(t *trial) { t.look(t.client()) }})
	if f.Outcome != Pass {
		return nil, errors.New("prove: nothing could be proved: " + f.Detail)
	}
	plan := &Plan{Tool: scenario.Tool}
	for _, rule := range rules {
		if p.leaves(rule) {
			continue
		}
		if a := p.missing(rule); a != nil {
			plan.Skips = append(plan.Skips, Finding{Rule: rule, Outcome: Skip, Detail: "needs " + a.name, Lacks: a.name, Flag: a.flag})
			continue
		}
		plan.Tries = append(plan.Tries, rule)
	}
	n := len(plan.Tries)
	plan.Calls, plan.PerQuestion, plan.Effects = n*callsOfRule, n*callsOfRuleFurther, n*effectsOfRule
	return plan, ctx.Err()
}

// ForeseeSweep says what [Sweep] would do, with one plan for each tool and kind of client. It
// asks the server for its list of tools, and calls none.
func ForeseeSweep(ctx context.Context, dial Dial, who *Caller, opts *SweepOptions) ([]*Plan, error) {
	reports, err := sweepAll(ctx, dial, who, opts, true)
	var plans []*Plan
	for _, r := range reports {
		plan := &Plan{Tool: r.Tool, Client: r.Client}
		for _, f := range r.Findings {
			if f.Detail == wouldBeTried {
				plan.Tries = append(plan.Tries, f.Rule)
			} else {
				plan.Skips = append(plan.Skips, f)
			}
		}
		plan.Calls = len(plan.Tries)
		plans = append(plans, plan)
	}
	return plans, err
}

// Summary says in two lines how much will be done, and what for want of an ability will not.
func (p *Plan) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, about %s", title(p.Tool, p.Client), numbered(len(p.Tries), "rule"), numbered(p.Calls, "call"))
	if p.PerQuestion > 0 {
		fmt.Fprintf(&b, " if it asks once, %d more for each further question", p.PerQuestion)
	}
	if p.Effects > 0 {
		fmt.Fprintf(&b, "; up to %s", numbered(p.Effects, "effect"))
	}
	b.WriteString("\n")
	if lacking := lacking(p.Skips); lacking != "" {
		fmt.Fprintf(&b, "%s: not tried for want of %s\n", title(p.Tool, p.Client), lacking)
	}
	return b.String()
}

// String is the summary, and one line for each rule.
func (p *Plan) String() string {
	var b strings.Builder
	b.WriteString(p.Summary())
	for _, r := range p.Tries {
		fmt.Fprintf(&b, "try   %-25s %-6s  %s\n", r.Name, r.Level, r.Says)
	}
	for _, f := range p.Skips {
		fmt.Fprintf(&b, "%s\n", f)
	}
	return b.String()
}
