package prove

import (
	"context"
	"slices"
	"sync"
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
	for _, i := range t.rounds() {
		for _, q := range t.asked(i) {
			r := t.reach(c, i)
			for _, of := range []func(wire.Question, any) []badAnswer{nullAnswer, otherKinds, notObjects, badActions, withoutContent, againstSchema} {
				for _, bad := range of(q, t.honestly(q)) {
					t.send(c, t.respond(r, q, bad.response))
				}
			}
		}
	}
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

// apart makes calls at the same time that differ by their arguments or their answers: all first
// rounds at once, then all second ones.
func apart(t *trial) {
	markers := t.markers()
	if len(markers) < 2 {
		t.skip("all calls that were tried end alike, so that none would be seen to get the result of another")
	}
	for range atATime {
		t.together(markers)
	}
}

// marker is a call whose result differs from those of the others.
type marker struct {
	who       *Caller
	arguments map[string]any
	answer    wire.Answer
	alone     []likeness // of its replies, by round, if nothing else goes on
	said      string     // its last reply
}

const (
	mostMarkers = 4
	atATime     = 3 // how often they are made together
)

func (t *trial) markers() (markers []*marker) {
	var all []*marker
	for n := range mostMarkers {
		m := &marker{who: t.subject.First, arguments: t.scenario.Arguments, answer: func(q wire.Question) any { return t.marked(q, n) }}
		if t.subject.Other != nil && n%2 == 1 {
			m.who = t.subject.Other
		}
		all = append(all, m)
	}
	if t.scenario.OtherArguments != nil {
		answers := t.scenario.OtherAnswers
		if answers == nil {
			answers = t.scenario.Answers
		}
		all = append(all, &marker{who: t.subject.First, arguments: t.scenario.OtherArguments, answer: func(q wire.Question) any { return t.answer(q, answers) }})
	}
	for _, m := range all {
		one := t.playAlone(m)
		if t.playAlone(m); !one.end().complete() {
			continue
		}
		m.said = one.end().outline()
		looksLike := func(other *marker) bool { return other.ends().fits(m.said) || m.ends().fits(other.said) }
		if !slices.ContainsFunc(markers, looksLike) {
			markers = append(markers, m)
		}
	}
	return markers
}

func (m *marker) ends() likeness { return m.alone[len(m.alone)-1] }

// playAlone makes the call of a marker, and learns how its replies may read.
func (t *trial) playAlone(m *marker) *playedCall {
	played := t.playWith(t.dial(t.subject.Dial, m.who, nil), m.arguments, m.answer)
	for i, s := range played.exchanges {
		if i == len(m.alone) {
			m.alone = append(m.alone, likenessOf(s.outline()))
		}
		m.alone[i].learn(wordsOf(s.outline()))
	}
	return played
}

// goesSo reports whether a marker's call may get this reply when it is alone. A text that never
// came so far is looked for in some more calls.
func (t *trial) goesSo(m *marker, round int, s exchange) bool {
	for range 6 {
		if round >= len(m.alone) || m.alone[round].fits(s.outline()) {
			return true
		}
		t.playAlone(m)
	}
	return false
}

func (t *trial) together(markers []*marker) {
	clients := make([]*wire.Client, len(markers))
	replies := make([]exchange, len(markers))
	for i, m := range markers {
		clients[i] = t.dial(t.subject.Dial, m.who, nil)
		replies[i] = exchange{request: t.request(m.arguments)}
	}
	rounds := len(slices.MaxFunc(markers, func(a, b *marker) int { return len(a.alone) - len(b.alone) }).alone)
	for round := range rounds {
		var sent sync.WaitGroup
		for i, m := range markers {
			r := replies[i].request
			if round > 0 && !replies[i].asks() {
				continue
			}
			if round > 0 {
				r = t.next(replies[i], m.answer)
			}
			sent.Add(1)
			go func() {
				defer sent.Done()
				replies[i] = t.send(clients[i], r)
			}()
		}
		sent.Wait()
		for i, m := range markers {
			t.answered(replies[i])
			if !t.goesSo(m, round, replies[i]) {
				t.failAt(replies[i], "beside other calls it goes another way: %s", replies[i].outline())
			}
		}
	}
	for _, c := range clients {
		t.leave(c)
	}
}

// marked answers a question as an honest user does, but with other values in each call.
func (t *trial) marked(q wire.Question, n int) any {
	response := t.honestly(q)
	for range n {
		accepted, _ := response.(map[string]any)
		content, _ := accepted["content"].(map[string]any)
		other, err := otherContent(q, content, false)
		if err != nil || other == nil {
			break
		}
		response = accepting(other)
	}
	return response
}

// inTime leaves a legacy client silent, since a modern call waits nowhere.
func inTime(t *trial) {
	asked := make(chan struct{}, 100)
	c := t.legacyClient(legacyForms, func(q wire.Question) any {
		asked <- struct{}{}
		return wire.Silent(q)
	})
	ctx, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	answered, err := t.start(ctx, c, t.request(t.scenario.Arguments))
	if err != nil {
		t.fail("no answer: %v", err)
	}
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
	if c, err := t.tryDial(t.subject.Dial, t.subject.First, asLegacy(legacyForms, wire.Silent)); err == nil {
		ctx, cancel := context.WithTimeout(t.ctx, min(t.patience, time.Second))
		defer cancel()
		if answered, err := t.start(ctx, c, t.request(t.scenario.Arguments)); err == nil {
			<-answered
		}
	}
	if after := settled(); after > before {
		t.fail("it holds %d things more after %d abandoned calls", after-before, calls)
	}
}
