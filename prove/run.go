package prove

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// Options configure [Run]. Nil, and the zero value, try every rule.
type Options struct {
	// Patience is how long one answer is waited for; zero is ten seconds.
	Patience time.Duration
	// Late is how long an effect may come behind its request and still be found; zero is five
	// seconds. It is waited for twice in a proof.
	Late time.Duration
	// Only are names of rules and of groups; none means all.
	Only []string
	// Level is the weakest level that is tried; empty is Ours, which is all.
	Level Level
	// Seed is that of the first random trace, and Traces how many there are; zero is 6.
	Seed   uint64
	Traces int
	// Dry runs say what they would do, and call no tool. Calls of the report is about how often
	// the tool would be called if it asks one question.
	Dry bool
	// Progress, if set, gets each finding as it is made.
	Progress func(Finding)
}

const (
	defaultPatience = 10 * time.Second
	defaultLate     = 5 * time.Second
)

// Run tries the rules, one after the other. It returns an error if nothing
// could be proved: the server cannot be reached, has no such tool, or does not
// complete an honest call, or the call asks nothing. When ctx ends, the rules that
// are left are skipped, and the report comes with the error of ctx.
func Run(ctx context.Context, subject Subject, scenario Scenario, opts *Options) (*Report, error) {
	p, rules, err := newProver(subject, scenario, opts)
	if err != nil {
		return nil, err
	}
	if p.options.Dry {
		return p.foresee(ctx, rules)
	}
	before := p.count(ctx)
	report := &Report{Tool: scenario.Tool}
	found := func(f Finding) {
		report.Findings = append(report.Findings, f)
		if p.options.Progress != nil {
			p.options.Progress(f)
		}
	}
	if err := p.prepare(ctx); err != nil {
		broken, ok := p.unanswerable(ctx, rules)
		if !ok {
			return nil, err
		}
		for _, rule := range rules {
			f := Finding{Rule: rule, Outcome: Skip, Detail: "not tried: no client can play the call to its end"}
			if rule.Name == broken.Rule.Name {
				f = broken
			}
			found(f)
		}
		rules = nil
	}
	for _, rule := range rules {
		if p.leaves(rule) {
			continue
		}
		f := Finding{Rule: rule, Outcome: Skip, Detail: "the proof was ended before"}
		if ctx.Err() == nil {
			if f = p.mourn(ctx, p.try(ctx, rule)); ctx.Err() != nil { // a request that was cut off proves nothing
				f = Finding{Rule: rule, Outcome: Skip, Detail: "the proof was ended meanwhile"}
			}
			p.after = rule.Name
		}
		found(f)
	}
	report.Calls, report.Effects = int(p.calls.Load()), grown(before, p.count(ctx))
	return report, ctx.Err()
}

// newProver makes a prover, and the rules that it is asked to try.
func newProver(subject Subject, scenario Scenario, opts *Options) (*prover, []Rule, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Patience, o.Late, o.Level = cmp.Or(o.Patience, defaultPatience), cmp.Or(o.Late, defaultLate), cmp.Or(o.Level, Ours)
	if err := misused(subject, scenario, o); err != nil {
		return nil, nil, err
	}
	rules, err := selected(o.Only, o.Level)
	if err != nil {
		return nil, nil, err
	}
	return &prover{subject: subject, scenario: scenario, options: o, patience: o.Patience, era: judge.Modern}, rules, nil
}

// leaves reports whether a rule is about a server of another kind.
func (p *prover) leaves(rule Rule) bool {
	return rule.Group() == taskGroup && !p.tasks && len(p.options.Only) == 0
}

// count is how often each effect happened so far; nil if nobody can say.
func (p *prover) count(ctx context.Context) effects {
	if p.subject.Effects == nil {
		return nil
	}
	counts, err := p.subject.Effects(ctx)
	if err != nil {
		return nil // the rules that count say so
	}
	return counts
}

func misused(subject Subject, scenario Scenario, o Options) error {
	switch {
	case subject.Dial == nil:
		return errors.New("prove: the subject has no Dial")
	case scenario.Tool == "":
		return errors.New("prove: the scenario names no tool")
	case o.Patience < 0 || o.Late < 0 || o.Traces < 0:
		return errors.New("prove: a negative option")
	case !slices.Contains(levels, o.Level):
		return fmt.Errorf("prove: there is no level %q", o.Level)
	}
	return nil
}

// prover holds the subject, and the honest call that every rule compares with.
type prover struct {
	subject  Subject
	scenario Scenario
	options  Options
	patience time.Duration
	era      judge.Era
	tool     *tool
	url      string // of the server; "" if it has none
	// shared is the connection of all rules in a sweep. In a proof each rule has its
	// own.
	shared *wire.Client

	book
	honest *playedCall
	// chosen are the answers that were found to have the effect, by question and property.
	chosen map[string]any
	// without are the replies to the requests of the honest call sent without their state, and
	// turnedAway those to a state that nobody made, by round.
	without, turnedAway []exchange
	// tasks says that the server offers tasks.
	tasks bool
	moves *bool // whether a call goes on at another instance; nil if nobody has tried
	// lost is the rule after which the server was gone, and "" while it is there.
	lost  string
	after string // the rule that was tried before
	// calls is how often a tool was called.
	calls atomic.Int64
	// abandoned are the requests over the connections of a rule that were waited for long
	// enough: their answers may still come.
	abandoned atomic.Int64
	// openStream says that a stream stayed open after its answer.
	openStream atomic.Bool
}

// unanswerable plays the honest call up to a question, or a result, that the revision does not
// describe. It is the failure of a rule if that was to be tried.
func (p *prover) unanswerable(ctx context.Context, rules []Rule) (broken Finding, ok bool) {
	at := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == wellFormed })
	if p.tool == nil || at < 0 {
		return broken, false
	}
	rule := rules[at]
	rule.try = func(t *trial) {
		s := t.send(t.client(), t.request(t.scenario.Arguments))
		for rounds := 0; s.asks() && rounds < maxRounds; rounds++ {
			t.wellAsked(s)
			s = t.send(t.client(), t.next(s, t.honestly))
		}
		if errors.Is(s.err, errUnreadable) {
			t.failAt(s, "%v", s.err)
		}
	}
	broken = p.try(ctx, rule)
	return broken, broken.Outcome == Fail
}

// try tries one rule, and cleans up behind it.
func (p *prover) try(ctx context.Context, rule Rule) (f Finding) {
	t := &trial{prover: p, ctx: ctx, main: p.shared, finding: Finding{Rule: rule, Outcome: Pass}}
	defer func() {
		t.hangUp()
		t.revive()
		f = t.finding
		f.Detail = clean(f.Detail)
	}()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(verdict); !ok {
				panic(r)
			}
		}
	}()
	if p.shared == nil {
		p.abandoned.Store(0)
	}
	if p.lost != "" {
		t.skip("not tried: the server is gone since %s", p.lost)
	}
	if lacking, lacks := p.lacks(rule); lacks {
		t.finding = lacking
		return t.finding
	}
	rule.try(t)
	return t.finding
}

// mourn looks for a server that is gone, or that answers no call, and that nobody can start again. The rule after which
// it is not there any more has failed, and those that follow are not tried.
func (p *prover) mourn(ctx context.Context, f Finding) Finding {
	if p.lost != "" || p.subject.Revive != nil || f.Outcome == Pass || f.Outcome == Skip {
		return f
	}
	gone := p.try(ctx, Rule{Name: "a look at the server", try: func(t *trial) {
		c := t.another(t.subject.Dial)
		if l := t.list(c, 1); l.last.reply == nil {
			t.fail("%s", l.last.outline())
		}
		if !f.unanswered {
			return
		}
		if end := t.play(c, t.honestly).end(); end.reply == nil {
			t.fail("it lists its tools, and an honest call gets %s", end.outline())
		}
	}})
	if gone.Outcome != Fail || ctx.Err() != nil {
		return f
	}
	p.lost = f.Rule.Name
	f.Outcome, f.Detail = Fail, "the server is gone after this: "+gone.Detail
	return f
}

// verdict ends a trial from any depth, as FailNow ends a test.
type verdict struct{}

// trial is one rule being tried.
type trial struct {
	*prover
	ctx      context.Context
	finding  Finding
	conns    []conn
	main     *wire.Client
	asks     []wire.Question // of the call that was reached last: those that its next request answers
	happened effects         // in the probe that is being made
	keyed    bool            // each trace sends a key of its own
}

func (t *trial) end(o Outcome, format string, args ...any) {
	t.finding.Outcome, t.finding.Detail = o, fmt.Sprintf(format, args...)
	panic(verdict{})
}

func (t *trial) fail(format string, args ...any) { t.end(Fail, format, args...) }
func (t *trial) skip(format string, args ...any) { t.end(Skip, format, args...) }

// failAt fails and shows the request and its reply.
func (t *trial) failAt(s exchange, format string, args ...any) { t.endAt(Fail, s, format, args...) }

func (t *trial) endAt(o Outcome, s exchange, format string, args ...any) {
	t.finding.Request, t.finding.unanswered = s.shown(t.honest), s.reply == nil && s.err != nil
	if s.reply != nil || s.err != nil {
		t.finding.Reply = clean(s.outline())
	}
	t.end(o, format, args...)
}

// because adds why a rule passed.
func (t *trial) because(format string, args ...any) { t.finding.Detail = fmt.Sprintf(format, args...) }

// seesEffects skips a rule that judges by effects if an honest call has none.
func (t *trial) seesEffects() {
	if len(t.usual()) == 0 {
		t.skip("needs a tool with an effect: none was counted in an honest call")
	}
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
