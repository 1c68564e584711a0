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
	{"server/alive", "After all of this the server still completes an honest call, with its effects.", Ours, "one client's request must not end another's", perCall, nil, alive},
	{"server/apart", "Two calls that are made at the same time do not mix.", Promise, agreedTo, perCall, nil, apart},
	{"server/in-time", "A call that waits for its user holds up no other.", Ours, "users take minutes", "Hold no lock while somebody is asked.", nil, inTime},
	{"server/leaves-nothing", "Calls that nobody answers leave nothing behind when their time is over.", Ours, "most users who walk away never say so",
		"End what waits when the call's time is over.", []*ability{held, expiry}, leavesNothing},
	lateRule,
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
	since := t.counting()
	end := t.perform(straight(t.final())).last()
	if !end.complete() {
		t.failAt(end, "an honest call ends otherwise than before: %s", end.outline())
	}
	happened := since().plain()
	for name, n := range t.usual() {
		if happened[name] < min(n, 1) {
			t.failAt(end, "an honest call completes, and %q has not happened any more", name)
		}
	}
}

// marker is a call whose values are others than those of the calls beside it.
type marker struct {
	arguments map[string]any
	answer    wire.Answer
	values    []string // that its replies and effects may mention
	replies   []exchange
}

const mostMarkers = 2

// apart makes calls at the same time that differ by their arguments or their answers: all first
// rounds at once, then all second ones. None may mention what another one was told, and the
// effects are those of each alone.
func apart(t *trial) {
	markers := t.markers()
	if len(markers) < 2 {
		t.skip("needs other arguments or answers, so that one call is told from another")
	}
	alone, said := effects{}, []string{}
	for _, m := range markers {
		since := t.counting()
		for range mostReaches {
			if t.playMarked([]*marker{m}); len(m.replies) == len(t.honest.exchanges) {
				break
			}
			t.forgive(func() {})
			t.happened = effects{}
		}
		alone = plus(alone, since())
		said = append(said, m.said())
	}
	since := t.counting()
	t.playMarked(markers)
	happened := since()
	for i, m := range markers {
		t.saysOwn(m, i, markers, said)
		if len(m.replies) != len(t.honest.exchanges) {
			t.skip("one of the calls asked nothing this time")
		}
	}
	if want, got := steady(alone, t.varies), steady(happened, t.varies); !maps.Equal(want, got) {
		t.fail("beside each other the calls have these effects: %s; one after the other: %s", got, want)
	}
}

func (t *trial) markers() (all []*marker) {
	for n := range mostMarkers {
		m := &marker{arguments: t.scenario.Arguments, answer: func(q wire.Question) any { return t.marked(q, n) }}
		if n%2 == 1 && t.scenario.OtherArguments != nil {
			m.arguments = t.scenario.OtherArguments
		}
		m.values = valuesOf(m.arguments)
		for _, q := range t.honest.questions() {
			m.values = append(m.values, valuesOf(m.answer(q))...)
		}
		slices.Sort(m.values)
		m.values = slices.Compact(m.values)
		if !slices.ContainsFunc(all, func(other *marker) bool { return slices.Equal(other.values, m.values) }) {
			all = append(all, m)
		}
	}
	return all
}

// marked answers a question as an honest user does, but with other values in each call.
func (t *trial) marked(q wire.Question, n int) any {
	response := t.honestly(q)
	for range n {
		other, err := otherContent(q, contentOf(response))
		if err != nil || other == nil {
			break
		}
		response = accepting(other)
	}
	return response
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

// playMarked plays calls side by side.
func (t *trial) playMarked(markers []*marker) {
	t.reset()
	clients := make([]*wire.Client, len(markers))
	for i, m := range markers {
		clients[i], m.replies = t.another(t.subject.Dial), []exchange{{request: t.request(m.arguments)}}
	}
	for range maxRounds {
		open := slices.DeleteFunc(slices.Clone(markers), func(m *marker) bool {
			last := m.replies[len(m.replies)-1]
			return last.reply != nil && !last.asks() || last.err != nil
		})
		if len(open) == 0 {
			break
		}
		t.sideBySide(len(open), func(i int) {
			m := open[i]
			last := m.replies[len(m.replies)-1]
			r := last.request
			if last.reply != nil {
				r = t.next(last, m.answer)
			}
			m.replies = append(m.replies, t.send(clients[slices.Index(markers, m)], r))
		})
	}
	for i, m := range markers {
		m.replies = m.replies[1:]
		t.answered(m.replies[len(m.replies)-1])
		t.leave(clients[i])
	}
}

func (m *marker) said() string {
	var all []string
	for _, s := range m.replies {
		all = append(all, s.outline())
	}
	return strings.Join(all, "\n")
}

// saysOwn fails if a call mentions a value of another one, and none of its own in its place: it
// mentions none of another when it is alone.
func (t *trial) saysOwn(m *marker, at int, markers []*marker, alone []string) {
	said := m.said()
	for i, other := range markers {
		for _, value := range other.values {
			if i != at && !slices.Contains(m.values, value) && mentions(said, value) && !mentions(alone[at], value) {
				t.failAt(m.replies[len(m.replies)-1], "beside other calls it says %q, which another one was told", value)
			}
		}
	}
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
