package prove

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

const perCall = "Keep what belongs to a call in its state, or under its id, and share nothing between calls."

var serverRules = []Rule{
	{"server/alive", "After all this an honest call still completes.", Ours, "one client's request must not end another's", perCall, nil, alive},
	{"server/apart", "Calls at the same time do not mix.", Promise, agreedTo, perCall, nil, apart},
	{"server/in-time", "A call that waits for its user holds up no other.", Ours, "users take minutes", "Hold no lock while somebody is asked.", nil, inTime},
	{"server/leaves-nothing", "Calls that nobody answers leave nothing behind.", Ours, "most users who walk away never say so",
		"End what waits when the call's time is over.", []*ability{held, expiry}, leavesNothing},
}

func alive(t *trial) {
	c := t.client()
	for _, r := range t.malformed(c) {
		t.send(c, r)
	}
	if t.subject.Died != nil {
		if err := t.subject.Died(); err != nil {
			t.fail("the server died: %v", err)
		}
	}
	if _, err := t.tryDial(t.subject.Dial, t.subject.First, nil); err != nil {
		t.fail("nothing listens any more: %v", err)
	}
	// The connection over which all came is as good as another.
	_, p, lacks := t.playHonestly()
	if end := p.last(); !end.complete() {
		t.failAt(end, "an honest call ends otherwise than before: %s", end.outline())
	} else if lacks != "" {
		t.failAt(end, "an honest call completes, and %s", lacks)
	}
}

// apart makes two calls at the same time that differ by their arguments or their answers: both
// first rounds at once, then both second ones. Neither may mention what the other one was told,
// and the effects are those of each alone.
func apart(t *trial) {
	one, two := straight(t.final()), straight(t.final())
	for i := range two {
		if two[i].other = otherArguments.has(t.prover); i > 0 {
			two[i].say = others
		}
	}
	calls, alone := [2]conversation{}, effects{}
	for i, acts := range [][]act{one, two} {
		p, happened := t.playedAlone(acts)
		calls[i], alone = conversationOf(p.replies), plus(alone, happened)
	}
	if slices.Equal(calls[0].told, calls[1].told) {
		t.skip("needs other arguments or answers, so that one call is told from another")
	}
	acts := zipped(one, two)
	for i := range acts {
		if i%2 == 1 {
			acts[i].at, acts[i].how = anew, beside
		}
	}
	since := t.counting()
	p := t.perform(acts)
	happened := since()
	t.saysOwn(p, 0, calls)
	t.saysOwn(p, 1, calls)
	if !p.whole() {
		t.skip("one of the calls asked nothing this time")
	}
	if want, got := steady(alone, t.varies), steady(happened, t.varies); !maps.Equal(want, got) {
		t.fail("beside each other the calls have these effects: %s; one after the other: %s", got, want)
	}
}

// playedAlone plays a call as often as it takes until it asks what the honest call asked.
func (t *trial) playedAlone(acts []act) (p *performed, happened effects) {
	since := t.counting()
	for range mostReaches {
		if p = t.perform(acts); p.whole() {
			break
		}
		t.forgive(func() {})
		t.happened = effects{}
	}
	return p, since()
}

// conversation is which values the requests of a call carried, and what its replies said.
type conversation struct {
	told []string
	said string
}

func conversationOf(replies []exchange) (c conversation) {
	for _, s := range replies {
		if s.reply != nil {
			c.told = slices.Concat(c.told, valuesOf(s.request.Arguments), valuesOf(s.request.Responses))
			c.said += s.outline() + "\n"
		}
	}
	slices.Sort(c.told)
	c.told = slices.Compact(c.told)
	return c
}

// saysOwn fails if one of two calls mentions a value that the other one was told, although it
// mentions none when it is alone.
func (t *trial) saysOwn(p *performed, which int, alone [2]conversation) {
	var own []exchange
	for i, s := range p.replies {
		if i%2 != which {
			continue
		}
		if s.err != nil {
			t.answered(s)
		}
		own = append(own, s)
	}
	said := conversationOf(own).said
	for _, value := range alone[1-which].told {
		if !slices.Contains(alone[which].told, value) && mentions(said, value) && !mentions(alone[which].said, value) {
			t.failAt(own[len(own)-1], "beside other calls it says %q, which another one was told", value)
		}
	}
}

// valuesOf are the texts and the numbers in a value, as a reply would mention them.
func valuesOf(v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "action" {
				all = append(all, valuesOf(v[name])...)
			}
		}
	case []any:
		for _, one := range v {
			all = append(all, valuesOf(one)...)
		}
	case string:
		all = append(all, v)
	case float64, int:
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// mentions reports whether a text has a value as a word of its own.
func mentions(text, value string) bool {
	for from := 0; value != ""; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(value)
		if (at == 0 || !isWordByte(text[at-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = end
	}
	return false
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
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
	if end := t.perform(straight(t.final())).last(); !end.complete() {
		t.failAt(end, "while another call waits, an honest one ends otherwise: %s", end.outline())
	}
}

func leavesNothing(t *trial) {
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
		t.reach(t.another(t.subject.Dial), t.final())
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
