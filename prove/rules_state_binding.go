package prove

import "github.com/mrtr-go/sdk/internal/wire"

func otherArguments(t *trial) {
	t.needs(t.scenario.OtherArguments != nil, "other arguments")
	t.transplanted("of a call with other arguments", t.client(), func(r wire.Request) wire.Request {
		r.Arguments = t.scenario.OtherArguments
		return r
	})
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
	t.transplanted("of another caller", t.dial(t.subject.Dial, t.subject.Other, nil), func(r wire.Request) wire.Request { return r })
}

func otherDeployment(t *trial) {
	t.needs(t.subject.Stranger != nil, "a server with other secrets")
	t.transplanted("of another deployment", t.another(t.subject.Stranger), func(r wire.Request) wire.Request { return r })
}

// transplanted sends the true state where it does not belong. Asking something is
// no harm: only a call that goes on as if the state were its own is.
func (t *trial) transplanted(what string, there *wire.Client, move func(wire.Request) wire.Request) {
	if t.stateless() {
		t.skip("needs a state: the tool sends none")
	}
	decorative := true
	for _, i := range t.rounds() {
		r := t.reach(t.client(), i)
		if r.State == "" {
			continue
		}
		r = move(r)
		bare := r
		bare.State = ""
		without := t.send(there, bare)
		s := t.send(there, r)
		s.altered = "the state " + what
		t.answered(s)
		switch {
		case s.refused():
			decorative = false
		case t.same(s, without):
		case s.complete():
			t.failAt(s, "the state %s was taken: the call completes", what)
		case i < t.last() && t.same(s, t.honest.exchanges[i]):
			t.failAt(s, "the state %s was taken: the call goes on", what)
		}
	}
	if decorative {
		t.because("the state decides nothing: the call goes the same way without it")
	}
}

func expired(t *trial) {
	t.needs(t.subject.Expire != nil, "a way to let states expire")
	dial := t.subject.Brief
	if dial == nil {
		dial = t.subject.Dial
	}
	if t.stateless() {
		t.skip("needs a state: the tool sends none")
	}
	c := t.another(dial)
	if end := t.play(c, t.scenario.Arguments, t.scenario.Answers).end(); !end.complete() {
		t.skip("the instance whose states expire does not complete the call: %s", end.outline())
	}
	decorative := true
	for _, i := range t.rounds() {
		r := t.reach(c, i)
		if r.State == "" {
			continue
		}
		if err := t.subject.Expire(t.ctx); err != nil {
			t.fail("nothing expired: %v", err)
		}
		s := t.send(c, r)
		s.altered = "the state, expired"
		if t.judgeAltered(i, s) {
			decorative = false
		}
	}
	if decorative {
		t.because("the state decides nothing: the call goes the same way without it")
	}
}

func anotherInstance(t *trial) {
	t.needs(t.subject.Fresh != nil, "another instance with the same secrets")
	for _, i := range t.rounds() {
		s := t.send(t.another(t.subject.Fresh), t.reach(t.client(), i))
		t.answered(s)
		switch {
		case t.same(s, t.honest.exchanges[i]):
		case s.refused():
			t.endAt(Note, s, "the instance refuses it, and says so: the calls of a client must reach the instance that began them")
		default:
			t.failAt(s, "the call goes another way there")
		}
	}
}
