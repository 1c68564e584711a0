package prove

import (
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

const askFirst = "Do nothing that cannot be undone above the answer that agrees to it."

var consentRules = []Rule{
	{"consent/unasked", "Nothing happens that nobody was asked about.", Promise, agreedTo,
		"Check the client's capabilities before the first effect.", []*ability{counts}, unasked},
	{"consent/declined", "A user who declines or cancels ends the call, and nothing happens.", Promise, agreedTo, askFirst, nil, declinedRule},
	{"consent/no", "A no, in whatever form, ends the call, and nothing happens.", Promise, agreedTo,
		"Compare the answer with the one value that means yes, and take everything else for a no.", nil, answeredNo},
	{"consent/silent", "Nothing happens without an answer, and the questions end.", Promise, agreedTo, askFirst, nil, nobodyAnswers},
}

// lastRules are tried at the end: they judge the traces of the other rules too.
var lastRules = []Rule{
	{"consent/words", "The question shows the amount and currency of the effect.", Promise, agreedTo,
		"Make the words of the question and the effect of the same values, and keep them in the state.", []*ability{counts}, wordsHold},
	{"consent/late", "No effect comes after the calls are over.", Promise, agreedTo,
		"Tie work in the background to the yes of its call.", []*ability{counts}, comesLate},
}

func unasked(t *trial) {
	if len(t.scenario.Optional) > 0 && len(t.honest.questions()) <= len(t.scenario.Optional) {
		t.skip("needs a question that is not optional")
	}
	for _, opts := range []*wire.Options{{Capabilities: wire.Nothing}, {Version: wire.Legacy, Capabilities: wire.Nothing}, {Capabilities: wire.Omitted}} {
		c, err := t.tryDial(t.subject.Dial, t.subject.First, opts)
		if err != nil {
			continue
		}
		since := t.counting()
		s := t.exchange(c, t.request(t.scenario.Arguments))
		happened := since()
		if len(c.Asked()) == 0 && !s.asks() && !t.sometimes() {
			t.onlyAllowed(happened, t.atTheStart(1), s, "and nobody was asked")
		}
	}
}

// sometimes says that the tool asks only sometimes, so that a call which asks nothing is none of
// those that are judged.
func (t *trial) sometimes() bool {
	for range mostReaches / 2 {
		if s := t.send(t.client(), t.request(t.scenario.Arguments)); s.complete() {
			return true
		}
	}
	return false
}

// saysInRound are the traces in which a user says something in one round, to all that is asked.
func (t *trial) saysInRound(s say) (all [][]act) {
	for _, i := range t.rounds() {
		acts := append(straight(i-1), answer(i-1, s))
		for n := range 2 { // if it is asked again
			acts = append(acts, answer(i+n, s))
		}
		all = append(all, acts)
	}
	return all
}

func declinedRule(t *trial) {
	if !t.declinable() {
		t.skip("needs a question that can be declined")
	}
	for _, s := range []say{decline, cancel} {
		for _, acts := range t.saysInRound(s) {
			t.must(Fail, acts, "after the user "+string(s))
		}
	}
	for i, q := range t.needed() {
		honest, ok := t.honestly(q).(map[string]any)
		if !ok || q.Method != "elicitation/create" {
			continue
		}
		for _, action := range []string{"decline", "cancel"} { // a form that was filled in before
			filled := t.sayNo(i, q, with(honest, "action", action), "a "+action)
			if t.asksNext(i, filled) && !t.asksNext(i, t.sayNo(i, q, map[string]any{"action": action}, "a "+action)) {
				t.failAt(filled, "a form that was filled in, and then %s, is taken", map[string]string{"decline": "declined", "cancel": "cancelled"}[action])
			}
		}
	}
	t.neverEnds()
	t.legacyDeclines()
	t.readsLikeYes(decline)
}

// readsLikeYes tells where nobody counts that a no has the result of a yes. A result alone condemns
// nobody.
func (t *trial) readsLikeYes(s say) {
	if t.subject.Effects != nil {
		return
	}
	acts := append(straight(t.final()-1), answer(t.final()-1, s))
	if end := t.perform(acts).last(); end.complete() && end.outline() == t.honest.end().outline() {
		t.endAt(Note, end, "the result after a no is that after a yes; a count of the effects (-effects) would tell what happened")
	}
}

// sayNo answers one question so that nobody has agreed to it.
func (t *trial) sayNo(round int, q wire.Question, response any, what string) (said exchange) {
	since := t.counting()
	r := t.reach(t.client(), round)
	s := t.exchange(t.client(), t.respond(r, q, response))
	end := s
	for n := 0; n < 3 && end.asks() && !t.asksNext(round, end); n++ {
		r := t.next(end, t.honestly)
		t.asks = end.reply.Asks
		end = t.exchange(t.client(), t.respond(r, q, response))
	}
	switch {
	case !t.asksNext(round, end):
	case asksYesOrNo(q) && asksConsent(wants(q)): // whatever else is agreed to, this was not
		t.finish(t.client(), end)
	default: // the question may have been optional
		t.follow(t.client(), end, func(q wire.Question) any { return t.says(decline, q) })
	}
	t.onlyAllowed(since(), t.upTo(round-1, 1), s, fmt.Sprintf("after %s to %q", what, q.Key))
	return s
}

// neverEnds fails if a call whose questions are all declined asks for ever.
func (t *trial) neverEnds() {
	for _, s := range []say{decline, cancel} {
		played := t.play(t.client(), func(q wire.Question) any { return t.says(s, q) })
		t.answered(played.end())
		switch end := played.end(); {
		case end.asks() && s == decline:
			t.failAt(end, "it asks for ever after a decline")
		case end.asks():
			t.endAt(Note, end, "it asks for ever after a cancel")
		}
	}
}

// legacyDeclines comes as a client that is asked over its connection.
func (t *trial) legacyDeclines() {
	c, err := t.tryDial(t.subject.Dial, t.subject.First, asLegacy(legacyForms, func(q wire.Question) any { return t.says(decline, q) }))
	if err != nil {
		return
	}
	since := t.counting()
	s := t.exchange(c, t.request(t.scenario.Arguments))
	if happened := since(); len(c.Asked()) > 0 {
		t.onlyAllowed(happened, t.atTheStart(1), s, "after a legacy client declined")
	}
}

func answeredNo(t *trial) {
	tried := false
	for i, q := range t.needed() {
		for _, content := range t.noes(q) {
			tried = true
			t.sayNo(i, q, accepting(content), "the answer "+marshal(content))
		}
		tried = t.nearlyYes(i, q) || tried
	}
	if !tried {
		t.skip("needs a form in which the user says yes or no")
	}
	t.readsLikeYes(no)
}

// nearlyYes types what is near to a text that has to be typed in to agree. That a text is one is
// learned: another one has no effect.
func (t *trial) nearlyYes(round int, q wire.Question) (tried bool) {
	content := contentOf(t.honestly(q))
	text, ok := content[wants(q)].(string)
	schema, err := readSchema(q.Schema)
	if !ok || err != nil || !t.seesEnd() || len(text) < 3 {
		return false
	}
	p := schema.Properties[wants(q)]
	if p == nil || len(choicesOf(p)) > 0 || p.Const != nil || p.Pattern != "" {
		return false // the schema says so: see answer/against-schema
	}
	types := func(text string) (s exchange, happened effects) {
		since := t.counting()
		r := t.reach(t.client(), round)
		s = t.finish(t.client(), t.send(t.client(), t.respond(r, q, accepting(with(content, wants(q), text)))))
		return s, since()
	}
	unlike := strings.Repeat("z", len(text))
	if _, happened := types(unlike); t.unexplained(happened, t.upTo(round-1, 1)) != "" {
		return false // any text will do
	}
	for _, w := range neighbours(text) {
		switch w.what {
		case "in capitals", "in small letters", "with a blank behind it", "with a blank before it", "with a line end behind it":
			continue // a server may be lenient about these
		}
		s, happened := types(w.value.(string))
		t.onlyAllowed(happened, t.upTo(round-1, 1), s, "for a text "+w.what)
	}
	return true
}

func nobodyAnswers(t *trial) {
	since := t.counting()
	played := t.play(t.client(), func(wire.Question) any { return nil })
	end := played.end()
	t.answered(end)
	t.onlyAllowed(since(), t.atTheStart(1), end, "and nobody answered")
	if t.final() > 1 { // or the answers stop coming
		acts := straight(t.final() - 1)
		for range 6 {
			acts = append(acts, answer(len(acts)-1, silent))
		}
		t.must(Fail, acts, "and nobody answered")
	}
	switch {
	case !end.asks():
	case t.stateless():
		t.endAt(Note, end, "it asks for ever, and has no state to count by")
	default:
		t.endAt(Note, end, "it still asks after %d requests without an answer", len(played.exchanges))
	}
}

func wordsHold(t *trial) {
	t.seesEffects()
	acts := straight(t.final())
	for i := range acts {
		if acts[i].other = otherArguments.has(t.prover); i > 0 {
			acts[i].say = others
		}
	}
	since := t.counting()
	p := t.perform(acts)
	t.heldAgainst(since(), p)
	if m := t.book.misworded; m != nil {
		t.showTrace(m.acts)
		t.failAt(m.shows, "%s, and the question said %q", m.wrong, m.said)
	}
}

func comesLate(t *trial) {
	t.hangUp()
	t.stray()
	before := t.book.last
	t.watched(t.ctx, t.options.Late)
	if more := grown(before, t.counted()); len(more) > 0 {
		t.strays = append(t.strays, more.String()+", when all was over")
	}
	if len(t.strays) > 0 {
		t.fail("nobody had asked for it: %s", strings.Join(t.strays, "; "))
	}
}
