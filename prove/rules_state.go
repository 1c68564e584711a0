package prove

import "github.com/mrtr-go/sdk/internal/wire"

const (
	integrity = "Server Requirements: requestState is attacker-controlled; reject what fails verification"
	binding   = "Server Requirements: bind requestState to principal, expiry and originating request"
)

var stateRules = []Rule{
	{"state/flipped", "A state with one character changed is refused.", Must, integrity,
		func(t *trial) { t.tampered(flipped) }},
	{"state/cut", "A state that was cut short is refused.", Must, integrity,
		func(t *trial) { t.tampered(cut) }},
	{"state/extended", "A state with something appended is refused.", Must, integrity,
		func(t *trial) { t.tampered(extended) }},
	{"state/forged", "A state that was read, changed and written anew is refused.", Must, integrity, forged},
	{"state/garbage", "A state that the server never made is refused.", Must, integrity,
		func(t *trial) { t.tampered(garbage) }},
	{"state/large", "A state of a megabyte is refused.", Must, integrity,
		func(t *trial) { t.tampered(large) }},
	{"state/not-text", "A state that is no string is not taken for one.", Must, "JSON schema: requestState is a string", notText},
	{"state/left-out", "Answers without their state do not end a call in another way than with it.", Must, integrity, leftOut},
	{"state/respelled", "A state has one spelling: the same bytes in another base64 form are refused.", Ours, "a token that opens is the one encoding of its bytes", respelled},
	{"state/other-arguments", "A state is refused with other arguments than those it was made for.", Should, binding, otherArguments},
	{"state/other-tool", "A state is refused by another tool.", Should, binding, otherTool},
	{"state/other-principal", "A state is refused from another caller.", Should, binding, otherPrincipal},
	{"state/expired", "A state is refused when its time is over.", Should, binding, expired},
	{"state/other-deployment", "A state that was sealed with other secrets is refused.", Must, integrity, otherDeployment},
	{"state/another-instance", "A call goes on at another instance that has the same secrets.", Ours, "Server Requirements: a retry may reach any instance", anotherInstance},
	{"state/never-same", "The states of two equal calls differ.", Ours, "a constant state binds nothing to its call", neverSame},
	{"state/refusal-harmless", "After an altered state was refused, the true one is still good.", Ours, "a forged request must not end somebody's call", refusalHarmless},
	{"state/one-refusal", "Every bad state is refused alike, so that nobody learns how close it was.", Ours, "a client never learns why a state failed", oneRefusal},
	{"state/legible", "A client cannot read the state.", Ours, "states hold answers and effects that are not the client's", legible},
}

// tampered sends altered states, in every round that has one, and fails where one
// is taken for good.
func (t *trial) tampered(alter func(state string) []mutant) {
	tried, decorative := 0, true
	for _, i := range t.rounds() {
		c := t.client()
		r := t.reach(c, i)
		if r.State == "" {
			continue
		}
		for _, m := range alter(r.State) {
			tried++
			s := t.sendAltered(c, r, m)
			if t.judgeAltered(i, s) {
				decorative = false
			}
		}
	}
	switch {
	case tried == 0 && t.stateless():
		t.skip("needs a state: the tool sends none")
	case tried == 0:
		t.skip("needs a state that can be altered so")
	case decorative:
		t.because("the state decides nothing: the call goes the same way without it")
	}
}

func (t *trial) stateless() bool {
	for _, s := range t.honest.exchanges {
		if s.asks() && s.reply.State != "" {
			return false
		}
	}
	return true
}

func (t *trial) sendAltered(c *wire.Client, r wire.Request, m mutant) exchange {
	r.State = m.state
	s := t.send(c, r)
	s.altered = "the state, " + m.what
	return s
}

// judgeAltered fails where a reply shows that an altered state was taken for
// good. A state that decides nothing is no harm, and neither is one after which
// the server asks the same question again: both are not reported as refused.
func (t *trial) judgeAltered(round int, s exchange) (refused bool) {
	t.answered(s)
	switch {
	case s.refused():
		return true
	case t.same(s, t.without[round]):
		return false
	case t.same(s, t.honest.exchanges[round-1]):
		return true
	case t.same(s, t.honest.exchanges[round]):
		t.failAt(s, "the altered state was taken for the true one")
	}
	t.failAt(s, "the altered state made the call go another way")
	return false
}

// answered fails where a request got no answer.
func (t *trial) answered(s exchange) {
	if s.reply == nil {
		t.failAt(s, "%s", s.outline())
	}
}

func forged(t *trial) {
	if !t.stateless() && !t.honest.legible() {
		t.skip("needs a legible state")
	}
	t.tampered(func(state string) []mutant {
		if r := read(state); r != nil {
			return r.forgeries()
		}
		return nil
	})
}

func notText(t *trial) {
	for _, state := range []any{7, true, map[string]any{}, []any{"a"}} {
		r := t.reach(t.client(), 1)
		t.judgeAltered(1, t.send(t.client(), withParam(t.client(), r, "requestState", state)))
	}
}

// withParam is a request with one of its params replaced by any JSON; nil leaves
// it out.
func withParam(c *wire.Client, r wire.Request, name string, value any) wire.Request {
	params := map[string]any{"name": r.Name, "arguments": r.Arguments}
	if meta := c.Meta(); meta != nil {
		params["_meta"] = meta
	}
	if r.State != "" {
		params["requestState"] = r.State
	}
	if r.Responses != nil {
		params["inputResponses"] = r.Responses
	}
	params[name] = value
	return wire.Request{Params: params}
}

func leftOut(t *trial) {
	if t.stateless() {
		t.skip("needs a state: the tool sends none")
	}
	for _, i := range t.rounds() {
		s := t.without[i]
		t.answered(s)
		if s.complete() && !t.same(s, t.honest.end()) {
			t.failAt(s, "without its state the call completes with another result")
		}
	}
}

func neverSame(t *trial) {
	if t.stateless() {
		t.skip("needs a state: the tool sends none")
	}
	for _, i := range t.rounds() {
		a, b := t.reach(t.client(), i), t.reach(t.client(), i)
		if a.State != "" && a.State == b.State {
			t.failAt(exchange{request: a, altered: "a state"}, "two calls have the same state in round %d", i)
		}
	}
}

func refusalHarmless(t *trial) {
	refused := 0
	for _, i := range t.rounds() {
		r := t.reach(t.client(), i)
		if r.State == "" {
			continue
		}
		for _, m := range append(flipped(r.State), extended(r.State)...) {
			if s := t.sendAltered(t.client(), r, m); s.refused() {
				refused++
			}
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
	for _, i := range t.rounds() {
		r := t.reach(t.client(), i)
		if r.State == "" {
			continue
		}
		for _, alter := range []func(string) []mutant{flipped, cut, extended, garbage} {
			for _, m := range alter(r.State) {
				s := t.sendAltered(t.client(), r, m)
				if !s.refused() {
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
	if t.stateless() {
		t.skip("needs a state: the tool sends none")
	}
	for _, s := range t.honest.exchanges {
		if s.asks() && s.reply.State != "" {
			if r := read(s.reply.State); r != nil {
				t.note("it %s", r.says())
			}
		}
	}
}
