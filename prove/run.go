package prove

import (
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
	// Only are names of rules and of groups; none means all.
	Only []string
	// Level is the weakest level that is tried; empty is Ours, which is all.
	Level Level
	// Progress, if set, gets each finding as it is made.
	Progress func(Finding)
}

const defaultPatience = 10 * time.Second

// Run tries the rules, one after the other. It returns an error if nothing
// could be proved: the server cannot be reached, has no such tool, or does not
// complete an honest call, or the call asks nothing. When ctx ends, the rules that
// are left are skipped, and the report comes with the error of ctx.
func Run(ctx context.Context, subject Subject, scenario Scenario, opts *Options) (*Report, error) {
	p, rules, err := newProver(subject, scenario, opts)
	if err != nil {
		return nil, err
	}
	before := p.counted(ctx)
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
		}
		found(f)
	}
	report.Calls, report.Effects = int(p.calls.Load()), grown(before, p.counted(ctx))
	return report, ctx.Err()
}

// newProver makes a prover, and the rules that it is asked to try.
func newProver(subject Subject, scenario Scenario, opts *Options) (*prover, []Rule, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Level == "" {
		o.Level = Ours
	}
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

// counted is how often each effect happened so far; nil if nobody can say.
func (p *prover) counted(ctx context.Context) map[string]int {
	if p.subject.Effects == nil {
		return nil
	}
	counts, err := p.subject.Effects(ctx)
	if err != nil {
		return nil // the rules that count say so
	}
	return counts
}

// grown is how much each count has grown.
func grown(before, after map[string]int) map[string]int {
	if after == nil {
		return nil
	}
	delta := map[string]int{}
	for name, n := range after {
		if n != before[name] {
			delta[name] = n - before[name]
		}
	}
	return delta
}

func misused(subject Subject, scenario Scenario, o Options) error {
	switch {
	case subject.Dial == nil:
		return errors.New("prove: the subject has no Dial")
	case scenario.Tool == "":
		return errors.New("prove: the scenario names no tool")
	case o.Patience < 0:
		return errors.New("prove: negative patience")
	case o.Level != Must && o.Level != Should && o.Level != Ours:
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
	// shared is the connection of all rules in a sweep. In a proof each rule has its
	// own.
	shared *wire.Client

	honest *playedCall
	// without are the replies to the requests of the honest call sent without
	// their state, by round.
	without []exchange
	// turnedAway are the results, which are no errors, by which the server tells that a state is
	// not good.
	turnedAway []likeness
	// tasks says that the server offers tasks.
	tasks bool
	// likenesses are those of the replies to honest calls, by round.
	likenesses []likeness
	// lost is the rule after which the server was gone, and "" while it is there.
	lost string
	// calls is how often a tool was called.
	calls atomic.Int64
	// abandoned are the requests over the connections of a rule that were waited for long
	// enough: their answers may still come.
	abandoned atomic.Int64
	// openStream says that a stream stayed open after its answer.
	openStream atomic.Bool
}

// prepare makes the honest calls.
func (p *prover) prepare(ctx context.Context) (err error) {
	f := p.try(ctx, Rule{Name: "prepare", try: func(t *trial) {
		c := t.client()
		before := t.count() // a count that fails is heard of before anything is called
		t.look(c)
		p.honest = t.play(c, p.scenario.Arguments, p.scenario.Answers)
		if end := p.honest.end(); end.reply != nil && end.reply.ResultType == "task" {
			t.failAt(end, "the call became a task for a client that takes none")
		}
		if end := p.honest.end(); !end.complete() {
			t.failAt(end, "an honest call of %q does not complete: %s", p.scenario.Tool, end.outline())
		}
		if len(p.honest.exchanges) == 1 {
			t.fail("the call asks nothing with these arguments: %s", marshal(p.scenario.Arguments))
		}
		if asked := len(p.honest.questions()); asked > maxQuestions {
			t.fail("an honest call is asked %d questions, more than %d", asked, maxQuestions)
		}
		p.honest.effects = t.since(before)
		p.honest.above, p.honest.below = t.effectsAbove(), t.effectsBelow()
		again := t.play(t.another(t.subject.Dial), p.scenario.Arguments, p.scenario.Answers)
		p.likenesses = likenessesOf(p.honest, again, t.play(c, p.scenario.Arguments, p.scenario.Answers))
		p.honest.constant = slices.Equal(p.honest.states(), again.states()) && !slices.ContainsFunc(p.honest.states(), func(state string) bool {
			r := read(state)
			return r == nil || r.text != state
		})
		p.without = make([]exchange, len(p.honest.exchanges))
		for i := range p.honest.exchanges {
			if i > 0 {
				r := t.reach(t.another(t.subject.Dial), i)
				r.State = ""
				p.without[i] = t.send(t.client(), r)
			}
		}
		p.turnedAway = t.learnRefusals()
	}})
	if f.Outcome == Pass {
		return ctx.Err()
	}
	return errors.New("prove: nothing could be proved: " + f.Detail)
}

// learnRefusals are the results for a state that nobody made. An error needs no learning. A
// result that is none is a refusal if the call has had no effect, which only a count can show.
func (t *trial) learnRefusals() (all []likeness) {
	if len(t.honest.effects) == 0 || t.stateless() {
		return nil
	}
	for _, i := range t.rounds() {
		var texts []string
		for range 2 {
			r := t.reach(t.client(), i)
			before := t.count()
			r.State = "nobody-made-this"
			s := t.send(t.client(), r)
			if s.complete() && t.charged(before) == "" && !t.same(s, t.honest.end()) {
				texts = append(texts, s.outline())
			}
		}
		if len(texts) == 2 {
			all = append(all, likenessOf(texts...))
		}
	}
	return all
}

// rejected says that a request was refused, or turned away by a result that says so.
func (p *prover) rejected(s exchange) bool {
	return s.refused() || s.complete() && slices.ContainsFunc(p.turnedAway, func(l likeness) bool { return l.fits(s.outline()) })
}

// look finds the tool, and calls none.
func (t *trial) look(c *wire.Client) {
	t.tool = t.findTool(c)
	t.tasks = t.offersTasks(c)
	if t.scenario.Arguments == nil {
		t.scenario.Arguments = t.madeArguments()
		if t.scenario.OtherArguments == nil { // as harmless as the first
			t.scenario.OtherArguments = t.madeOtherArguments()
		}
	}
}

// unanswerable plays the honest call up to a question, or a result, that the revision does not
// describe. It is the failure of a rule if that was to be tried.
func (p *prover) unanswerable(ctx context.Context, rules []Rule) (Finding, bool) {
	if p.tool == nil {
		return Finding{}, false
	}
	broken := p.try(ctx, Rule{Name: "result/questions", try: func(t *trial) {
		s := t.send(t.client(), t.request(t.scenario.Arguments))
		for rounds := 0; s.asks() && rounds < maxRounds; rounds++ {
			t.wellAsked(s)
			s = t.send(t.client(), t.next(s, t.honestly))
		}
		if errors.Is(s.err, errUnreadable) {
			t.finding.Rule.Name = "result/schema"
			t.failAt(s, "%v", s.err)
		}
	}})
	for _, rule := range rules {
		if rule.Name == broken.Rule.Name && broken.Outcome == Fail {
			broken.Rule = rule
			return broken, true
		}
	}
	return broken, false
}

// effectsAbove are those of a call before it asks anything.
func (t *trial) effectsAbove() map[string]int {
	if len(t.honest.effects) == 0 {
		return nil
	}
	before := t.count()
	t.send(t.another(t.subject.Dial), t.request(t.scenario.Arguments))
	return t.since(before)
}

// effectsBelow are those of a call after its last question.
func (t *trial) effectsBelow() map[string]int {
	if len(t.honest.effects) == 0 {
		return nil
	}
	r := t.reach(t.client(), t.last())
	before := t.count()
	t.send(t.client(), r)
	return t.since(before)
}

// likenessesOf are those of the replies that vary between equal calls.
func likenessesOf(calls ...*playedCall) (all []likeness) {
	for i := range calls[0].exchanges {
		var texts []string
		for _, call := range calls {
			if i < len(call.exchanges) {
				texts = append(texts, call.exchanges[i].outline())
			}
		}
		all = append(all, likenessOf(texts...))
	}
	return all
}

// learn adds the reply to one more honest request of a round. Words may vary so seldom that the
// first calls do not show it.
func (p *prover) learn(round int, s exchange) {
	honest := s.complete() && round == len(p.honest.exchanges)-1 || s.asks() && round < len(p.honest.exchanges)-1
	if p.likenesses != nil && honest {
		p.likenesses[round].learn(wordsOf(s.outline()))
	}
}

// madeArguments are made from the input schema.
func (t *trial) madeArguments() map[string]any {
	if t.tool.input == nil {
		t.fail("its inputSchema does not read: %v", t.tool.inputErr)
	}
	arguments, err := t.tool.sample()
	if err != nil {
		t.fail("no arguments can be made from its inputSchema: %v", err)
	}
	return arguments
}

// madeOtherArguments fit the input schema too, and differ from the first wherever they can. They
// are nil if there are none.
func (t *trial) madeOtherArguments() map[string]any {
	made, _ := differing(t.tool.input, t.scenario.Arguments, t.tool.input.Properties, func(name string) []any {
		property := t.tool.input.Properties[name]
		if given, has := t.scenario.Arguments[name]; has {
			return otherValues(given, property)
		}
		value, err := (&sampler{maxSampleValues, maxSampleBytes}).value(property, 0)
		if err != nil {
			return nil
		}
		return []any{value}
	})
	return made
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
		if end := t.play(c, t.scenario.Arguments, t.scenario.Answers).end(); end.reply == nil {
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
	ctx     context.Context
	finding Finding
	conns   []conn
	main    *wire.Client
	asks    []wire.Question // of the call that was reached last: those that its next request answers
	refused bool            // an altered state was refused
}

func (t *trial) end(o Outcome, format string, args ...any) {
	t.finding.Outcome, t.finding.Detail = o, fmt.Sprintf(format, args...)
	panic(verdict{})
}

func (t *trial) fail(format string, args ...any) { t.end(Fail, format, args...) }
func (t *trial) skip(format string, args ...any) { t.end(Skip, format, args...) }
func (t *trial) note(format string, args ...any) { t.end(Note, format, args...) }

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

// needs skips the rule if the subject lacks an ability.
func (t *trial) needs(has bool, ability string) {
	if !has {
		t.finding.Lacks = ability
		t.skip("needs %s", ability)
	}
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
