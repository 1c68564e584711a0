package prove

import (
	"maps"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

const (
	sealIt = "Seal or sign the state, compare the whole tag in constant time, and refuse whatever does not open."
	bindIt = "Put the user, the tool, its arguments and an expiry into what the state's tag covers, and compare them on receipt."
)

var stateRules = []Rule{
	{"state/altered", "A changed, cut, extended, made-up or recombined state is refused.", Must, integrity, sealIt, nil, altered},
	{"state/forged", "A state forged with a guessed key, no key or a known trick is refused.", Must, integrity, sealIt, nil, forged},
	{"state/other-arguments", "A state is refused with other arguments.", Should, binding, bindIt, []*ability{otherArguments}, withOtherArguments},
	{"state/other-tool", "A state is refused by another tool.", Should, binding, bindIt, []*ability{otherTool}, withOtherTool},
	{"state/other-principal", "A state is refused from another caller.", Should, binding, bindIt, []*ability{otherCaller}, fromOtherPrincipal},
	{"state/expired", "An expired state is refused.", Should, binding,
		"Put an expiry into what the state's tag covers, compare it on receipt, and allow half a minute at most for clocks that differ.", []*ability{expiry}, expiredState},
	{"state/other-deployment", "A state sealed with other secrets is refused.", Must, integrity, "Give each deployment a secret of its own.", []*ability{otherSecrets}, fromOtherDeployment},
	{"state/refusal", "A refusal leaves the true state good, and all read alike.", Ours, "a forged request must neither end a call nor teach its sender",
		"Look at a state before anything else, and answer each bad one with the same error.", nil, refusal},
}

func (t *trial) needsState() {
	if t.stateless() {
		t.skip("needs a state: the tool sends none")
	}
}

// attempt is a request that must be refused.
type attempt struct {
	what    string
	request wire.Request
}

// tamper sends attempts in each round that has a state, and fails if one is taken for good. They
// are made of an honest request whose true state stays unused.
func (t *trial) tamper(of func(round int, r wire.Request) []attempt) {
	t.needsState()
	tried := 0
	for _, i := range t.rounds() {
		if t.decidesNothing(i) {
			continue
		}
		t.closely(func(closely bool) string {
			r := t.reach(t.client(), i)
			if r.State == "" {
				return ""
			}
			all := of(i, r)
			tried += len(all)
			since := t.counting()
			for _, a := range all {
				s := t.attempt(a)
				too := t.takes(i, s)
				if too == "" && closely {
					too = t.unexplained(since(), nil)
				}
				if too != "" {
					t.failAt(s, "%s: %s", a.what, too)
				}
			}
			return t.unexplained(since(), nil)
		})
	}
	if tried == 0 {
		t.skip("needs a state that decides something, and that can be altered so")
	}
}

func (t *trial) attempt(a attempt) exchange {
	s := t.send(t.client(), a.request)
	s.altered = a.what
	t.answered(s)
	return s
}

// decidesNothing says that a call goes the same way without its state.
func (t *trial) decidesNothing(round int) bool {
	s := t.without[round]
	return s.complete() && t.turnedAway[round].complete() && round == t.final() || t.asksNext(round, s)
}

// takes says how a reply shows that a request was taken for a good one of its round; "" if it does
// not. A result that says no, and has no effect, is a refusal, whatever its words are.
func (t *trial) takes(round int, s exchange) string {
	switch {
	case s.refused():
	case t.asksNext(round, s):
		return "the call goes on"
	case s.complete() && !t.seesEnd() && !t.turnedAway[round].complete():
		return "the call completes"
	}
	return ""
}

// seesEnd says that the end of an honest call shows by its effects.
func (t *trial) seesEnd() bool { return len(t.stages) > 0 && len(t.stages[len(t.stages)-1]) > 0 }

// asksNext reports whether a reply asks a question that follows a round, and none of its own.
func (t *trial) asksNext(round int, s exchange) bool {
	asked := func(q wire.Question) bool { return t.isAsked(s, q) }
	return s.asks() && round < t.final() && slices.ContainsFunc(t.asked(round+1), asked) && !slices.ContainsFunc(t.asked(round), asked)
}

// ofState makes attempts of the altered forms of a state.
func ofState(r wire.Request, all []mutant) (attempts []attempt) {
	for _, m := range all {
		changed := r
		changed.State = m.state
		attempts = append(attempts, attempt{"the state, " + m.what, changed})
	}
	return attempts
}

func altered(t *trial) {
	c := t.client()
	t.tamper(func(i int, r wire.Request) []attempt {
		all := ofState(r, slices.Concat(flipped(r.State), cut(r.State), extended(r.State), garbage(), dismembered(r.State)))
		for _, state := range []any{7, true, map[string]any{}, []any{"a"}} {
			all = append(all, attempt{"a state that is no text", withParam(c, r, "requestState", state)})
		}
		if p := partsOf(r.State); len(p.parts) > 1 {
			all = append(all, ofState(r, spliced(r.State, t.reach(c, i).State))...)
		}
		return all
	})
	t.large()
}

// large sends a state of a megabyte.
func (t *trial) large() {
	r := t.reach(t.client(), 1)
	for _, a := range ofState(r, large()) {
		if s := t.attempt(a); t.takes(1, s) != "" {
			t.failAt(s, "%s: %s", a.what, t.takes(1, s))
		}
	}
}

func forged(t *trial) {
	t.tamper(func(round int, r wire.Request) []attempt {
		return ofState(r, forgeries(r.State, t.scenario.Tool, round == t.final()))
	})
	t.needsState()
	if r := read(t.honest.states()[0]); r != nil {
		t.because("a client can read the state: it %s", r.says())
	}
}

// withParam is a request with one of its params replaced by any JSON.
func withParam(c *wire.Client, r wire.Request, name string, value any) wire.Request {
	params := paramsOf(r)
	if meta := c.Meta(); meta != nil {
		params["_meta"] = meta
	}
	params[name] = value
	return wire.Request{Params: params}
}

func refusal(t *trial) {
	t.needsState()
	var first exchange
	for i, r := range t.withState(t.client()) {
		if t.decidesNothing(i) {
			continue
		}
		for _, a := range ofState(r, slices.Concat(flipped(r.State)[:min(4, len(flipped(r.State)))], cut(r.State), garbage())) {
			s := t.attempt(a)
			switch {
			case !s.refused():
			case first.reply == nil:
				first = s
			case s.outline() != first.outline():
				t.failAt(s, "%s is refused in other words than one before: %s", a.what, first.outline())
			}
		}
		if s := t.send(t.client(), r); !t.goesOn(i, s) {
			t.failAt(s, "after refusals the true state is not taken any more")
		}
	}
	if first.reply == nil {
		t.skip("needs a state that is refused")
	}
}

// goesOn reports whether a reply to an honest request of a round is of the kind that it was in the
// honest call.
func (t *trial) goesOn(round int, s exchange) bool {
	if round == t.final() {
		return s.complete()
	}
	return s.asks() && t.asksAsBefore(s, round)
}

func withOtherArguments(t *trial) {
	all := t.eachOtherArguments()
	t.transplanted("of a call with other arguments", t.client(), func(r wire.Request) wire.Request {
		r.Arguments = all[0]
		return r
	})
	t.tamper(func(_ int, r wire.Request) (attempts []attempt) {
		for _, arguments := range all {
			changed := r
			changed.Arguments = arguments
			attempts = append(attempts, attempt{"the state of a call with other arguments", changed})
		}
		return attempts
	})
}

// eachOtherArguments are the other arguments, and the honest ones with one of the others each: a
// state may be bound to some of them alone.
func (t *trial) eachOtherArguments() []map[string]any {
	all := []map[string]any{t.scenario.OtherArguments}
	for _, name := range slices.Sorted(maps.Keys(t.scenario.OtherArguments)) {
		value := t.scenario.OtherArguments[name]
		if one := with(t.scenario.Arguments, name, value); marshal(value) != marshal(t.scenario.Arguments[name]) && marshal(one) != marshal(all[0]) {
			all = append(all, one)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.scenario.Arguments)) { // and careless comparisons
		if text, ok := t.scenario.Arguments[name].(string); ok {
			for _, w := range neighbours(text)[:min(7, len(neighbours(text)))] {
				all = append(all, with(t.scenario.Arguments, name, w.value))
			}
			if len(text) > 1 {
				all = append(all, with(t.scenario.Arguments, name, text[:len(text)-1]))
			}
		}
	}
	return all
}

func withOtherTool(t *trial) {
	t.transplanted("of a call of another tool", t.client(), func(r wire.Request) wire.Request {
		r.Name = t.scenario.OtherTool
		return r
	})
}

func same(r wire.Request) wire.Request { return r }

func fromOtherPrincipal(t *trial) {
	t.transplanted("of another caller", t.dial(t.subject.Dial, t.subject.Other, nil), same)
	if t.subject.First != nil && t.subject.First.Token != "" {
		t.transplanted("of another caller, who does not say who they are,", t.dial(t.subject.Dial, nil, nil), same)
	}
}

func fromOtherDeployment(t *trial) {
	t.transplanted("of another deployment", t.another(t.subject.Stranger), same)
}

// transplanted sends the true state to a place that it does not belong to. Asking something is
// no harm: only a call that goes on as if the state were its own is.
func (t *trial) transplanted(what string, there *wire.Client, move func(wire.Request) wire.Request) {
	t.needsState()
	for i, r := range t.withState(t.client()) {
		if t.decidesNothing(i) {
			continue
		}
		t.mustNotTake(i, there, move(r), "the state "+what)
		if i < t.final() {
			continue
		}
		// Of a call that has ended, a server may remember the result.
		own := t.reach(t.client(), i)
		end := t.send(t.client(), own)
		s := t.send(there, move(own))
		s.altered = "the state of a call that has ended, " + what
		if s.complete() && end.complete() && s.raw() == end.raw() && s.raw() != t.turnedAway[i].raw() {
			t.failAt(s, "the state %s was taken after the call had ended: its result is given away", what)
		}
	}
}

// mustNotTake sends a request with a state that is no good for it.
func (t *trial) mustNotTake(round int, c *wire.Client, r wire.Request, what string) {
	if s, too := t.taken(round, c, r, what); too != "" {
		t.failAt(s, "%s was taken: %s", what, too)
	}
}

// taken says how a request with a state that is no good was taken for a good one; "" if it was not.
func (t *trial) taken(round int, c *wire.Client, r wire.Request, what string) (s exchange, too string) {
	since := t.counting()
	s = t.send(c, r)
	s.altered = what
	t.answered(s)
	if too = t.unexplained(since(), nil); too == "" {
		too = t.takes(round, s)
	}
	return s, too
}

// skew is more than servers allow for clocks that differ.
const skew = 35 * time.Second

func expiredState(t *trial) {
	dial := t.subject.Brief
	if dial == nil {
		dial = t.subject.Dial
	}
	t.needsState()
	c := t.another(dial)
	if end := t.play(c, t.honestly).end(); !end.complete() {
		t.skip("the instance whose states expire does not complete the call: %s", end.outline())
	}
	s, too := t.takenAfter(c, 0)
	if too != "" && t.subject.Brief != nil {
		if s, too = t.takenAfter(c, skew); too == "" {
			t.because("it is taken for a moment after its time, as by servers whose clocks may differ")
		}
	}
	if too != "" {
		t.failAt(s, "an expired state was taken: %s", too)
	}
}

// takenAfter keeps the states of all rounds until they have expired, and for a while more, and
// says how one of them was taken.
func (t *trial) takenAfter(c *wire.Client, more time.Duration) (s exchange, too string) {
	kept := maps.Collect(t.withState(c))
	if err := t.subject.Expire(t.ctx); err != nil {
		t.fail("nothing expired: %v", err)
	}
	t.wait(more)
	for _, i := range slices.Sorted(maps.Keys(kept)) {
		if t.decidesNothing(i) {
			continue
		}
		if s, too = t.taken(i, c, kept[i], "an expired state"); too != "" {
			break
		}
	}
	return s, too
}
