package prove

import (
	"maps"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

const reentry = "a tool is called again from its top in each round"

var effectRules = []Rule{
	{"effect/once", "A call that completes has each of its effects as often as the tool means to.", Ours, reentry, effectOnce},
	{"effect/instances", "The same holds if each round reaches another instance.", Ours, reentry, effectInstances},
	{"effect/asked-again", "The same holds if each question is asked twice, since its answer was missing or empty.", Ours, reentry, effectAskedAgain},
	{"effect/refused", "A request that is refused has no effect.", Must, integrity, effectRefused},
	{"effect/unasked", "A call whose client cannot be asked has no effect that waits for an answer.", Ours, "nobody has agreed to it", effectUnasked},
	{"effect/declined", "A call whose last question is declined has had no effect.", Ours, "effects wait for the last answer, or are named as done", effectDeclined},
}

func effectOnce(t *trial) {
	t.needs(t.subject.Effects != nil, "a count of the effects")
	if !t.meansTo() {
		t.counted()
	}
	before := t.count()
	r := t.complete(t.client())
	effects := t.since(before)
	if too := surplus(effects, t.times); too != "" {
		t.failAt(exchange{request: r, reply: t.honest.end().reply}, "%s", too)
	}
	for _, name := range slices.Sorted(maps.Keys(t.scenario.Times)) {
		if effects[name] < t.scenario.Times[name] {
			t.fail("%q happened %d times instead of %d", name, effects[name], t.scenario.Times[name])
		}
	}
}

// meansTo reports whether the scenario names an effect. If none is counted then, that
// is a failure: the tool had none, or nobody reported it to the counter.
func (t *trial) meansTo() bool {
	for _, n := range t.scenario.Times {
		if n > 0 {
			return true
		}
	}
	return false
}

// onceAtAll skips a rule that has nothing to compare with: a call that has its effects
// too often anyway says nothing about instances.
func (t *trial) onceAtAll() {
	t.counted()
	if too := surplus(t.honest.effects, t.times); too != "" {
		t.skip("needs a call that has its effects once to begin with")
	}
}

func effectInstances(t *trial) {
	t.onceAtAll()
	t.needs(t.subject.Fresh != nil, "another instance with the same secrets")
	before := t.count()
	r := t.request(t.scenario.Arguments)
	var s exchange
	for range maxRounds {
		c := t.another(t.subject.Fresh)
		s = t.exchange(c, r)
		t.leave(c)
		if !s.asks() {
			break
		}
		r = t.next(s, t.honestly)
	}
	t.atMost(t.times, Fail, before, s)
	if !s.complete() {
		t.because("the call does not get to its end: %s", s.outline())
	}
}

func effectAskedAgain(t *trial) {
	t.onceAtAll()
	for _, first := range []any{nil, map[string]any{"action": "accept", "content": map[string]any{}}} {
		before := t.count()
		asked := map[string]bool{}
		played := t.playWith(t.client(), t.scenario.Arguments, func(q wire.Question) any {
			key := t.inHonest(q).Key
			if asked[key] || first != nil && (!isForm(q) || len(required(q)) == 0) {
				return t.honestly(q)
			}
			asked[key] = true
			return first
		})
		t.answered(played.end())
		t.atMost(t.times, Fail, before, played.end())
	}
}

func effectRefused(t *trial) {
	t.counted()
	refused := 0
	for _, r := range t.withState(t.client()) {
		for _, m := range append(flipped(r.State), garbage(r.State)...) {
			before := t.count()
			s := t.sendAltered(t.client(), r, m)
			if !t.rejected(s) {
				continue
			}
			refused++
			t.nothingSince(before, Fail, s, "happened")
		}
	}
	if refused == 0 {
		t.skip("needs a state that is refused")
	}
}

func effectDeclined(t *trial) {
	t.counted()
	before := t.count()
	c := t.client()
	r := t.reach(c, t.last())
	for _, q := range t.asked(t.last()) {
		if q.Method != "elicitation/create" {
			t.skip("needs a last question that can be declined")
		}
		r = t.respond(r, q, map[string]any{"action": "decline"})
	}
	s := t.exchange(c, r)
	idle := len(t.honest.below) == 0 && !slices.ContainsFunc(t.asked(t.last()), func(q wire.Question) bool { return !asksYesOrNo(q) })
	if name := t.charged(before); name != "" && idle {
		t.failAt(s, "%q happened before its question was asked: an answer changes nothing", name)
	}
	t.nothingSince(before, Note, s, "happened")
}

// nothingSince ends a rule if any effect has happened since they were counted before.
func (t *trial) nothingSince(before map[string]int, outcome Outcome, s exchange, happened string) {
	if effects := t.since(before); len(effects) > 0 {
		t.endAt(outcome, s, "%s %s", strings.Join(slices.Sorted(maps.Keys(effects)), ", "), happened)
	}
}

// effectUnasked comes as the clients of both eras that declare nothing.
func effectUnasked(t *trial) {
	t.counted()
	needed := func(q wire.Question) bool { return !slices.Contains(t.scenario.Optional, q.Key) }
	if !slices.ContainsFunc(t.honest.questions(), needed) {
		t.skip("needs a question that is not optional")
	}
	before := t.andAbove(t.count())
	s := t.undeclared(wire.Nothing)
	if effect := t.charged(before); effect != "" {
		t.failAt(s, "%q happened, and nobody was asked", effect)
	}
	c, err := t.tryDial(t.subject.Dial, t.subject.First, &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing})
	if err != nil {
		return
	}
	before = t.andAbove(t.count())
	s = t.exchange(c, t.request(t.scenario.Arguments))
	if effect := t.charged(before); effect != "" && len(c.Asked()) == 0 {
		t.failAt(s, "%q happened for a legacy client, and nobody was asked", effect)
	}
}

// andAbove adds to a count the effects that an honest call has before it asks anything.
func (t *trial) andAbove(before map[string]int) map[string]int {
	sum := maps.Clone(before)
	for name, n := range t.honest.above {
		if sum == nil {
			sum = map[string]int{}
		}
		sum[name] += n
	}
	return sum
}
