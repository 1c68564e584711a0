package prove

import (
	"maps"
	"slices"

	"github.com/mrtr-go/sdk/internal/wire"
)

var stateRules = []Rule{
	{"state/flipped", "A state with one character changed is refused.", Must, integrity, tampered(flipped)},
	{"state/cut", "A state that was cut short is refused.", Must, integrity, tampered(cut)},
	{"state/extended", "A state with something appended is refused.", Must, integrity, tampered(extended)},
	{"state/forged", "A state that was read, changed and written anew is refused.", Must, integrity, forged},
	{"state/resigned", "A state that was changed and signed with a key that anybody can guess, or with none, is refused.", Must, integrity, resigned},
	{"state/parts", "A state without one of its parts, or that says it needs no signature, is refused.", Must, integrity, tampered(dismembered)},
	{"state/spliced", "A state made of the parts of two calls is refused.", Must, integrity, spliced},
	{"state/garbage", "A state that the server never made is refused.", Must, integrity, tampered(garbage)},
	{"state/large", "A state of a megabyte is refused.", Must, integrity, tampered(large)},
	{"state/not-text", "A state that is no string is not taken for one.", Must, integrity, notText},
	{"state/left-out", "Answers without their state never complete a call with another result.", Must, integrity, leftOut},
	{"state/respelled", "A state has one spelling: the same bytes in another base64 form are refused.", Ours, "a token that opens is the one encoding of its bytes", tampered(respelled)},
	{"state/other-arguments", "A state is refused with other arguments than its own.", Should, binding, otherArguments},
	{"state/other-tool", "A state is refused by another tool.", Should, binding, otherTool},
	{"state/other-principal", "A state is refused from another caller.", Should, binding, otherPrincipal},
	{"state/expired", "A state is refused when its time is over.", Should, binding, expired},
	{"state/other-deployment", "A state that was sealed with other secrets is refused.", Must, integrity, otherDeployment},
	{"state/another-instance", "A call goes on at another instance that has the same secrets.", Ours, "a retry may reach any instance", anotherInstance},
	{"state/never-same", "The states of two equal calls differ.", Ours, "a constant state binds nothing to its call", neverSame},
	{"state/refusal-harmless", "After an altered state was refused, the true one is still good.", Ours, "a forged request must not end somebody's call", refusalHarmless},
	{"state/one-refusal", "Every bad state is refused alike, so that nobody learns how close it was.", Ours, "a client never learns why a state failed", oneRefusal},
	{"state/legible", "A client cannot read the state.", Ours, "states hold answers and effects that are not the client's", legible},
}

// tampered sends altered states, in every round that has one, and fails if one
// is taken for good.
func tampered(alter func(state string) []mutant) func(*trial) {
	return func(t *trial) {
		tried := 0
		for i, r := range t.withState(t.client()) {
			for _, m := range alter(r.State) {
				tried++
				t.judgeAltered(i, t.sendAltered(t.client(), r, m))
			}
		}
		if tried == 0 {
			t.needsState()
			t.skip("needs a state that can be altered so")
		}
		t.decides()
	}
}

// decides says so if the state decides nothing: that is no harm.
func (t *trial) decides() {
	if !t.refused {
		t.because("the state decides nothing: the call goes the same way without it")
	}
}

func (t *trial) needsState() {
	if t.stateless() {
		t.skip("needs a state: the tool sends none")
	}
}

func (t *trial) stateless() bool { return len(t.honest.states()) == 0 }

func (t *trial) sendAltered(c *wire.Client, r wire.Request, m mutant) exchange {
	r.State = m.state
	s := t.send(c, r)
	s.altered = "the state, " + m.what
	return s
}

// judgeAltered fails if a reply shows that an altered state was taken for good. A state that
// decides nothing is no harm.
func (t *trial) judgeAltered(round int, s exchange) {
	t.answered(s)
	switch {
	case t.rejected(s):
		t.refused = true
	case t.same(s, t.without[round]):
	case t.same(s, t.honest.exchanges[round-1]): // it asks the same again
		t.refused = true
	case t.same(s, t.honest.exchanges[round]):
		t.failAt(s, "the altered state was taken for the true one")
	default:
		t.failAt(s, "the altered state made the call go another way")
	}
}

func forged(t *trial) {
	legible := func(state string) bool { return read(state) != nil }
	if !t.stateless() && !slices.ContainsFunc(t.honest.states(), legible) {
		t.skip("needs a legible state")
	}
	tampered(func(state string) (all []mutant) {
		for _, r := range readings(state) {
			all = append(all, r.forgeries()...)
		}
		return all
	})(t)
}

func notText(t *trial) {
	for _, state := range []any{7, true, map[string]any{}, []any{"a"}} {
		r := t.reach(t.client(), 1)
		t.judgeAltered(1, t.send(t.client(), withParam(t.client(), r, "requestState", state)))
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

func leftOut(t *trial) {
	t.needsState()
	for _, i := range t.rounds() {
		s := t.without[i]
		t.answered(s)
		if s.complete() && !t.same(s, t.honest.end()) && !t.rejected(s) {
			t.failAt(s, "without its state the call completes with another result")
		}
	}
}

func neverSame(t *trial) {
	t.needsState()
	for _, i := range t.rounds() {
		a, b := t.reach(t.client(), i), t.reach(t.client(), i)
		if a.State != "" && a.State == b.State {
			t.failAt(exchange{request: a, altered: "a state"}, "two calls have the same state in round %d", i)
		}
	}
}

func refusalHarmless(t *trial) {
	refused := 0
	for i, r := range t.withState(t.client()) {
		taken := false
		for _, m := range append(flipped(r.State), extended(r.State)...) {
			if s := t.sendAltered(t.client(), r, m); t.rejected(s) {
				refused++
			} else {
				taken = taken || !t.same(s, t.honest.exchanges[i-1])
			}
		}
		if taken {
			continue // and may have used up the true one
		}
		if s := t.send(t.client(), r); !t.same(s, t.honest.exchanges[i]) {
			t.failAt(s, "the true state is not taken any more")
		}
	}
	if refused == 0 {
		t.skip("needs a state that is refused")
	}
}

func oneRefusal(t *trial) {
	said := map[string]string{}
	var first string
	for _, r := range t.withState(t.client()) {
		for _, alter := range []func(string) []mutant{flipped, cut, extended, garbage} {
			for _, m := range alter(r.State) {
				s := t.sendAltered(t.client(), r, m)
				if !t.rejected(s) {
					continue
				}
				if first == "" {
					first = s.outline()
				}
				if said[s.outline()] = m.what; s.outline() != first {
					t.failAt(s, "a state %s is refused in other words than one %s: %s", m.what, said[first], first)
				}
			}
		}
	}
	if first == "" {
		t.skip("needs a state that is refused")
	}
}

func legible(t *trial) {
	t.needsState()
	for _, state := range t.honest.states() {
		if r := read(state); r != nil {
			t.note("it %s", r.says())
		}
	}
}

func otherArguments(t *trial) {
	t.needs(t.scenario.OtherArguments != nil, "other arguments")
	for _, arguments := range t.eachOtherArguments() {
		t.transplanted("of a call with other arguments", t.client(), func(r wire.Request) wire.Request {
			r.Arguments = arguments
			return r
		})
	}
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
	return all
}

func otherTool(t *trial) {
	t.needs(t.scenario.OtherTool != "", "another tool")
	t.transplanted("of a call of another tool", t.client(), func(r wire.Request) wire.Request {
		r.Name = t.scenario.OtherTool
		return r
	})
}

func otherPrincipal(t *trial) {
	t.needs(t.subject.Other != nil, "a second caller")
	same := func(r wire.Request) wire.Request { return r }
	t.transplanted("of another caller", t.dial(t.subject.Dial, t.subject.Other, nil), same)
	if t.subject.First != nil && t.subject.First.Token != "" {
		t.transplanted("of another caller, who does not say who they are,", t.dial(t.subject.Dial, nil, nil), same)
	}
}

func otherDeployment(t *trial) {
	t.needs(t.subject.Stranger != nil, "a server with other secrets")
	t.transplanted("of another deployment", t.another(t.subject.Stranger), func(r wire.Request) wire.Request { return r })
}

// transplanted sends the true state to a place that it does not belong to. Asking something is
// no harm: only a call that goes on as if the state were its own is.
func (t *trial) transplanted(what string, there *wire.Client, move func(wire.Request) wire.Request) {
	t.needsState()
	t.refused = false // at another place
	for i, r := range t.withState(t.client()) {
		r = move(r)
		bare := r
		bare.State = ""
		without := t.send(there, bare)
		s := t.send(there, r)
		s.altered = "the state " + what
		t.answered(s)
		switch {
		case t.rejected(s):
			t.refused = true
		case t.same(s, without):
		case s.complete():
			t.failAt(s, "the state %s was taken: the call completes", what)
		case i < t.last() && t.same(s, t.honest.exchanges[i]):
			t.failAt(s, "the state %s was taken: the call goes on", what)
		}
		if !t.refused || i < t.last() {
			continue
		}
		// Of a call that has ended, a server may remember the result.
		own := t.reach(t.client(), i)
		t.send(t.client(), own)
		s = t.send(there, move(own))
		s.altered = "the state of a call that has ended, " + what
		if s.complete() && t.surely(s, t.honest.end()) {
			t.failAt(s, "the state %s was taken after the call had ended: its result is given away", what)
		}
	}
	t.decides()
}

func expired(t *trial) {
	t.needs(t.subject.Expire != nil, "a way to let states expire")
	dial := t.subject.Brief
	if dial == nil {
		dial = t.subject.Dial
	}
	t.needsState()
	c := t.another(dial)
	if end := t.play(c, t.scenario.Arguments, t.scenario.Answers).end(); !end.complete() {
		t.skip("the instance whose states expire does not complete the call: %s", end.outline())
	}
	for i, r := range t.withState(c) {
		if err := t.subject.Expire(t.ctx); err != nil {
			t.fail("nothing expired: %v", err)
		}
		s := t.send(c, r)
		s.altered = "the state, expired"
		t.judgeAltered(i, s)
	}
	t.decides()
}

func anotherInstance(t *trial) {
	t.needs(t.subject.Fresh != nil, "another instance with the same secrets")
	for _, i := range t.rounds() {
		s := t.exchange(t.another(t.subject.Fresh), t.reach(t.client(), i))
		switch {
		case t.same(s, t.honest.exchanges[i]):
		case t.rejected(s):
			t.endAt(Note, s, "the instance refuses it, and says so: the calls of a client must reach the instance that began them")
		default:
			t.failAt(s, "the call goes another way there")
		}
	}
}
