package prove

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

var serverRules = []Rule{
	{"server/alive", "After all of this the server still completes an honest call.", Ours, "one client's request must not end another's", alive},
	{"server/apart", "Two calls that are made at the same time do not mix.", Ours, "a state belongs to one call", apart},
	{"server/in-time", "A call that waits for its user holds up no other.", Ours, "users take minutes", inTime},
	{"server/leaves-nothing", "Calls that nobody answers leave nothing behind when their time is over.", Ours, "most users who walk away never say so", leavesNothing},
}

func alive(t *trial) {
	c := t.client()
	for _, r := range t.malformed(c) {
		t.send(c, r)
	}
	t.eachQuestion(func(i int, q wire.Question) {
		r := t.reach(c, i)
		key := t.here(q).Key
		for _, of := range []func(wire.Question, any) []badAnswer{nullAnswer, otherKinds, notObjects, badActions, withoutContent, againstSchema} {
			for _, answer := range of(q, t.honestly(q)) {
				t.send(c, withResponse(r, key, t.retold(q, answer.response)))
			}
		}
	})
	if t.subject.Died != nil {
		if err := t.subject.Died(); err != nil {
			t.fail("the server died: %v", err)
		}
	}
	if again, err := t.tryDial(t.subject.Dial, t.subject.First, nil); err != nil {
		t.fail("nothing listens any more: %v", err)
	} else if end := t.play(again, t.scenario.Arguments, t.scenario.Answers).end(); !t.same(end, t.honest.end()) {
		t.failAt(end, "an honest call ends otherwise than before: %s", end.outline())
	}
	// The connection over which all came is as good as another.
	if end := t.play(c, t.scenario.Arguments, t.scenario.Answers).end(); !t.same(end, t.honest.end()) {
		t.failAt(end, "on the connection over which all came, an honest call ends otherwise than before: %s", end.outline())
	}
}

func apart(t *trial) {
	t.needs(t.scenario.OtherArguments != nil, "other arguments")
	c := t.client()
	otherAnswers := t.scenario.OtherAnswers
	if otherAnswers == nil {
		otherAnswers = t.scenario.Answers
	}
	alone := t.play(c, t.scenario.OtherArguments, otherAnswers)
	if !alone.end().complete() {
		t.skip("needs other arguments with which the call completes: %s", alone.end().outline())
	}
	alike := likenessOf(alone.end().outline(), t.play(c, t.scenario.OtherArguments, otherAnswers).end().outline())
	one := t.send(c, t.request(t.scenario.Arguments))
	two := t.send(c, t.request(t.scenario.OtherArguments))
	for range maxRounds {
		if one.asks() {
			one = t.send(c, t.next(one, t.honestly))
		}
		if two.asks() {
			two = t.send(c, t.next(two, func(q wire.Question) any { return t.answer(q, otherAnswers) }))
		}
	}
	if !t.same(one, t.honest.end()) {
		t.failAt(one, "beside another call it ends otherwise: %s", one.outline())
	}
	if !alike.fits(two.outline()) {
		t.failAt(two, "beside another call it ends otherwise: %s", two.outline())
	}
}

// inTime leaves a legacy client silent, since a modern call waits nowhere.
func inTime(t *trial) {
	asked := make(chan struct{}, 100)
	silent := &wire.Options{Version: wire.Legacy, Capabilities: legacyForms, Answers: wire.Answers{"*": func(q wire.Question) any {
		asked <- struct{}{}
		return wire.Silent(q)
	}}}
	c, err := t.tryDial(t.subject.Dial, t.subject.First, silent)
	if err != nil {
		t.skip("needs a server that speaks a legacy revision: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	pending, err := t.begin(ctx, c, t.request(t.scenario.Arguments))
	if err != nil {
		t.fail("no answer: %v", err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = pending.Response(ctx)
	}()
	select {
	case <-asked:
	case <-answered:
		t.skip("needs a legacy client that is asked")
	}
	if end := t.play(t.client(), t.scenario.Arguments, t.scenario.Answers).end(); !t.same(end, t.honest.end()) {
		t.failAt(end, "while another call waits, an honest one ends otherwise: %s", end.outline())
	}
}

func leavesNothing(t *trial) {
	t.needs(t.subject.Held != nil, "a count of what the server holds")
	t.needs(t.subject.Expire != nil, "a way to let states expire")
	settled := func() int {
		t.hangUp()
		if err := t.subject.Expire(t.ctx); err != nil {
			t.fail("nothing expired: %v", err)
		}
		n, err := t.subject.Held(t.ctx)
		if err != nil {
			t.fail("the things that the server holds cannot be counted: %v", err)
		}
		return n
	}
	before := settled()
	const calls = 10
	for range calls {
		t.reach(t.another(t.subject.Dial), t.last())
	}
	if c, err := t.tryDial(t.subject.Dial, t.subject.First, &wire.Options{Version: wire.Legacy, Capabilities: legacyForms, Answers: wire.Answers{"*": wire.Silent}}); err == nil {
		ctx, cancel := context.WithTimeout(t.ctx, min(t.patience, time.Second))
		defer cancel()
		if pending, err := t.begin(ctx, c, t.request(t.scenario.Arguments)); err == nil {
			_, _ = pending.Response(ctx)
		}
	}
	if after := settled(); after > before {
		t.fail("it holds %d things more after %d abandoned calls", after-before, calls)
	}
}
