package prove

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	claimIt = "Claim the round in a store that all instances share before the effect, and answer a repetition with the first result."
	keyIt   = "Keep what has happened in the state, or under an idempotency key in a store."
)

var onceRules = []Rule{
	{"once/honest", "A completed call had each effect as often as the tool means to.", Promise, onceOnly, keyIt, []*ability{counts}, onceHonest},
	{"once/again", "A repeated round, the last or an earlier one, has no second effect, with whatever answers.", Promise, onceOnly, claimIt, []*ability{counts}, again},
	{"once/elsewhere", "A round repeated at another instance has no second effect.", Promise, onceOnly, claimIt, []*ability{counts, elsewhere}, atOtherInstances},
	{"once/crash", "A round repeated after the server died has no second effect.", Promise, onceOnly, claimIt, []*ability{counts, crashes}, crash},
	{"once/random", "No random order of requests has an effect without its own yes.", Promise, onceOnly, claimIt, []*ability{counts}, randomTraces},
	{"once/merged", "Two equal calls that are both answered have both effects.", Promise, onceOnly, "Take a second first request for the same call only while the first one waits, and never once both are answered.", []*ability{counts}, merged},
	{"replay/whole-call", "A call played again from its first request has its effects once.", Promise, onceOnly, "Recognize a first request that comes again while its call waits, by caller, tool and arguments.", []*ability{counts}, wholeCall},
}

// times is how often the scenario says that a call has each effect.
func (t *trial) times() effects {
	all := effects{}
	for name := range t.usual() {
		all[name] = 1
	}
	for name, n := range t.scenario.Times {
		all[name] = n
	}
	return all
}

// meansTo reports whether the scenario names an effect. If none is counted then, that
// is a failure: the tool had none, or nobody reported it to the counter.
func (t *trial) meansTo() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(t.scenario.Times)), func(n int) bool { return n > 0 })
}

// onceHonest makes two calls, since the second one may find what the first has left.
func onceHonest(t *trial) {
	if !t.meansTo() {
		t.seesEffects()
	}
	for range 2 {
		happened, p, lacks := t.playHonestly()
		s := p.last()
		if !s.complete() {
			t.skip("the call goes another way this time: %s", s.outline())
		}
		if too := t.unexplained(happened, t.times()); too != "" {
			t.failAt(s, "%s", too)
		}
		if lacks != "" {
			t.failAt(s, "the call completes, and %s", lacks)
		}
		t.heldAgainst(happened, p)
	}
}

// playHonestly makes an honest call, and says which effect it lacks. Where equal calls are one while they wait,
// it may have gone on with one that an earlier probe left, whose effects had happened: then it makes
// another.
func (t *trial) playHonestly() (happened effects, p *performed, lacks string) {
	for range 2 {
		since := t.counting()
		p = t.perform(straight(t.final()))
		happened = since()
		if lacks = t.lacks(happened.plain()); lacks == "" || !p.last().complete() {
			break
		}
	}
	return happened, p, lacks
}

func (t *trial) lacks(happened map[string]int) string {
	for _, name := range slices.Sorted(maps.Keys(t.scenario.Times)) {
		if n := happened[name]; n < t.scenario.Times[name] {
			return fmt.Sprintf("%q happened %d times instead of %d", name, n, t.scenario.Times[name])
		}
	}
	for name, n := range t.usual() {
		if happened[name] < min(n, 1) {
			return fmt.Sprintf("%q has not happened", name)
		}
	}
	return ""
}

// onceAtAll skips a rule that has nothing to compare with: a call that has its effects
// too often anyway says nothing about repetitions.
func (t *trial) onceAtAll() {
	t.seesEffects()
	if t.unexplained(t.usual(), t.times()) != "" {
		t.skip("needs a call that has its effects once to begin with")
	}
}

func again(t *trial) {
	t.onceAtAll()
	t.finalAgain(t.final())
	t.earlierAgain(t.final())
}

func (t *trial) finalAgain(n int) {
	last := func(s say, at place, how manner) act { return act{on: n - 1, say: s, at: at, how: how, again: -1} }
	for _, more := range [][]act{
		{last(yes, here, once), last(yes, here, once), last(yes, anew, once), last(others, here, once), last(more, here, once)},
		{last(yes, here, atOnce)},
		{last(yes, here, hangUp), last(yes, anew, once)},
	} {
		acts := append(straight(n-1), more...)
		p := t.must(t.repeats(), acts, "for one yes")
		if acts[n].how == atOnce && !p.last().complete() {
			t.failAt(p.last(), "sent six times at once, none of them completes")
		}
	}
	if t.subject.Expire != nil && t.subject.Brief == nil { // a server may have forgotten it then
		t.must(t.repeats(), append(straight(n), last(yes, here, expired)), "for one yes, long after it")
	}
}

// earlierAgain plays the call a second time from its first question, and a call in which each
// question is left open once.
func (t *trial) earlierAgain(n int) {
	if n > 1 {
		acts := straight(n)
		for i := 1; i <= n; i++ {
			on := n + i - 1
			if i == 1 {
				on = 0
			}
			acts = append(acts, answer(on, yes))
		}
		t.must(t.repeats(), acts, "for one yes to each question")
	}
	acts := []act{begin()}
	for range n {
		acts = append(acts, answer(len(acts)-1, silent))
		acts = append(acts, answer(len(acts)-1, yes))
	}
	t.must(Fail, acts, "where each question was asked twice")
}

func atOtherInstances(t *trial) {
	n := t.final()
	p := t.must(Fail, moved(straight(n), there), "where each round reaches another instance")
	switch s := p.last(); {
	case s.complete():
	case s.refused():
		t.finding.Detail = "the instance refuses it, and says so: the calls of a client must reach the instance that began them"
	case s.asks() && t.roundOf(s, 0) < n:
		t.endAt(Note, s, "the call begins anew there")
	}
	t.onceAtAll()
	t.must(t.repeats(), append(straight(n), act{on: n - 1, say: yes, at: there, again: -1}), "for one yes, at two instances")
}

// lease is more than the time after which a server gives up on a dead process
// that had begun a round.
const lease = time.Minute

func crash(t *trial) {
	t.seesEffects()
	since := t.counting()
	c := t.another(t.subject.Dial)
	r := t.reach(c, 1)
	t.subject.CrashAtEffect(true)
	defer t.subject.CrashAtEffect(false)
	s := t.send(c, r)
	for s.asks() {
		r = t.next(s, t.honestly)
		s = t.send(c, r)
	}
	if s.reply != nil {
		t.skip("needs an effect behind an answer")
	}
	t.subject.CrashAtEffect(false)
	t.leave(c)
	if err := t.subject.Revive(t.ctx); err != nil {
		t.fail("the server does not start again: %v", err)
	}
	c = t.another(t.subject.Dial)
	s = t.sendWithin(c, r, max(t.patience, lease))
	t.answered(s)
	s = t.finish(c, s)
	if too := t.unexplained(since(), t.usual()); too != "" {
		t.endAt(t.repeats(), s, "%s for one yes", too)
	}
	if s.refused() {
		t.endAt(Note, s, "whether the effect happened is unknown: sent again, the call ends with %s; a check with the system that has the effect would tell (in package mrtr, EffectOptions.Check)", s.outline())
	}
}

// merged makes two equal calls, and answers both, so there are two intents: one call after the
// other, in two windows, and by two users.
func merged(t *trial) {
	t.seesEffects()
	if t.subject.Reset != nil {
		t.skip("needs a tool that can be called twice without a reset")
	}
	t.bothHappen(oneAfterTheOther(t.final()))
	t.bothHappen(zipped(straight(t.final()), moved(straight(t.final()), anew)))
	if otherCaller.has(t.prover) {
		t.bothHappen(zipped(straight(t.final()), moved(straight(t.final()), another)))
	}
}

func oneAfterTheOther(rounds int) []act {
	acts := straight(rounds)
	for _, a := range straight(rounds) {
		if a.on >= 0 {
			a.on += rounds + 1
		}
		acts = append(acts, a)
	}
	return acts
}

// bothHappen fails if two equal calls complete, and have the effects of one. A call that an earlier
// probe has left waiting comes to its end before, since the first of the two may join it.
func (t *trial) bothHappen(acts []act) {
	t.perform(straight(t.final()))
	p, happened, _ := t.excess(acts)
	complete := 0
	for _, s := range p.replies {
		if s.complete() {
			complete++
		}
	}
	if complete < 2 {
		t.because("one of two equal calls does not complete, and says so")
		return
	}
	for name, k := range t.usual() {
		if got := happened.plain()[name]; got < 2*min(k, 1) {
			t.showTrace(acts)
			t.failAt(p.last(), "both calls complete, and %q happened %s", name, often(got))
		}
	}
}

// wholeCall is a client that keeps no state, and plays its call again from the first request as
// often as it goes on. One that has a key for the call may do so when it has ended, too.
func wholeCall(t *trial) {
	t.onceAtAll()
	acts := playedAgain(t.final())
	p := t.must(t.repeats(), acts, "in a call that was played again from its first request")
	if s := p.last(); s.refused() {
		t.because("played again, it ends so: %s", s.outline())
	}
	if t.scenario.Key == "" {
		return
	}
	t.keyed = true
	acts = append(acts, act{on: -1, again: 0, at: anew})
	for range t.final() {
		acts = append(acts, act{on: len(acts) - 1, say: yes, at: anew, again: -1})
	}
	t.must(Fail, acts, "in a call that was played again under its key")
}

// playedAgain begins a call anew before each of its answers.
func playedAgain(rounds int) []act {
	acts := []act{begin()}
	for upTo := 1; upTo <= rounds; upTo++ {
		first := len(acts)
		acts = append(acts, act{on: -1, again: 0, at: anew})
		for i := range upTo {
			acts = append(acts, act{on: first + i, say: yes, at: anew, again: -1})
		}
	}
	return acts
}
