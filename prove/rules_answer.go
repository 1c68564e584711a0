package prove

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

const judgeIt = "Check the action, then the content against the very schema that was sent, before anything is done with it."

var answerRules = []Rule{
	{"answer/missing", "A question without an answer is asked again.", Should, reasking, "Return the question again where its answer is missing.", nil, missing},
	{"answer/invalid", "Null, another kind, action or key is not taken for an answer.", Should, answering, judgeIt, nil, invalid},
	{"answer/against-schema", "Content that breaks the question's own schema is not taken.", Should, fitting, judgeIt, nil, againstSchema},
	{"answer/extra", "Answers to no question, and unknown members of a form, change nothing.", Should, ignoring,
		"Read the keys and the properties that you asked for, and no others.", nil, extras},
	{"answer/ahead", "An answer sent before its question does not count.", Should, keyed, "Remember in the state which question is open, and take an answer to that one alone.", nil, ahead},
}

// badAnswer is a response that does not answer a question.
type badAnswer struct {
	what     string
	response any
}

// needed are the questions of the honest call that may not be left out, each with the index of
// the request that answers it.
func (t *trial) needed() iter.Seq2[int, wire.Question] {
	return func(yield func(int, wire.Question) bool) {
		for _, i := range t.rounds() {
			for _, q := range t.asked(i) {
				if !slices.Contains(t.scenario.Optional, q.Key) && !yield(i, q) {
					return
				}
			}
		}
	}
}

// respond is a request of the call that was reached last, with another response to a question
// of the honest call.
func (t *trial) respond(r wire.Request, q wire.Question, response any) wire.Request {
	here := t.here(q)
	return withResponse(r, here.Key, retold(q, here, response))
}

// withResponse is a request in which one response is another; absent takes it out.
func withResponse(r wire.Request, key string, response any) wire.Request {
	responses := map[string]any{}
	if given, ok := r.Responses.(map[string]any); ok {
		responses = maps.Clone(given)
	}
	responses[key] = response
	if response == absent {
		delete(responses, key)
	}
	r.Responses = responses
	return r
}

// absent marks a response to be left out.
var absent any = new(int)

// retold is a response to a question of the honest call, for the same question of another call,
// whose form may have another name for its only property.
func retold(q, here wire.Question, response any) any {
	content := contentOf(response)
	value, named := content[q.Key]
	if !named || here.Key == q.Key || !slices.Contains(here.Properties(), here.Key) {
		return response
	}
	moved := maps.Clone(content)
	delete(moved, q.Key)
	moved[here.Key] = value
	return with(response.(map[string]any), "content", moved)
}

// here is a question of the honest call as it was asked in the call that was reached last.
func (t *trial) here(q wire.Question) wire.Question {
	if i := slices.IndexFunc(t.asks, func(asked wire.Question) bool { return t.isQuestion(q, asked) }); i >= 0 {
		return t.asks[i]
	}
	return q
}

// wrongly sends bad answers to a question, one behind the other in the same call for as long as it
// asks again. None of them is a yes: it fails if the call goes on, or has an effect of its end.
func (t *trial) wrongly(round int, q wire.Question, all []badAnswer, request func(r wire.Request, bad badAnswer) wire.Request) {
	t.closely(func(closely bool) string {
		calls, since := 1, t.counting()
		r := t.reach(t.client(), round)
		for _, bad := range all {
			s := t.exchange(t.client(), request(r, bad))
			if closely {
				if too := t.unexplained(since(), t.upTo(round-1, calls)); too != "" {
					t.failAt(s, "%s was taken for an answer to %q: %s", bad.what, q.Key, too)
				}
			}
			switch {
			case s.refused():
				continue
			case t.isAsked(s, q):
				r, t.asks = t.next(s, t.honestly), s.reply.Asks
				continue
			case t.asksNext(round, s):
				t.failAt(s, "%s was taken for an answer to %q: the call goes on", bad.what, q.Key)
			case s.complete() && !t.seesEnd() && !t.declines(round, q).complete():
				t.failAt(s, "%s was taken for an answer to %q: the call completes", bad.what, q.Key)
			}
			calls++
			r = t.reach(t.client(), round)
		}
		return t.unexplained(since(), t.upTo(round-1, calls))
	})
}

// declines is the reply to a user who declines.
func (t *trial) declines(round int, q wire.Question) exchange {
	return t.send(t.client(), t.respond(t.reach(t.client(), round), q, map[string]any{"action": "decline"}))
}

func (t *trial) instead(q wire.Question) func(r wire.Request, bad badAnswer) wire.Request {
	return func(r wire.Request, bad badAnswer) wire.Request { return t.respond(r, q, bad.response) }
}

func missing(t *trial) {
	for i, q := range t.needed() {
		since := t.counting()
		r := t.respond(t.reach(t.client(), i), q, absent)
		if len(r.Responses.(map[string]any)) == 0 {
			r.Responses = nil
		}
		s := t.exchange(t.client(), r)
		if !t.isAsked(s, q) {
			t.failAt(s, "the question %q is not asked again", q.Key)
		}
		if i == t.final() {
			if s = t.finish(t.client(), s); !s.complete() { // a server may ask for one thing at a time
				t.failAt(s, "asked again and answered, the call does not complete")
			}
		}
		t.onlyAllowed(since(), t.usual(), s, "after a question was asked twice")
	}
}

func invalid(t *trial) {
	for i, q := range t.needed() {
		t.wrongly(i, q, slices.Concat(noAnswers(), otherKinds(q), otherActions(q, t.honestly(q))), t.instead(q))
		t.underOtherKeys(i, q)
	}
	for _, q := range t.asked(1) {
		bad := []badAnswer{{"a number", 7}, {"a text", "accept"}, {"a list", []any{map[string]any{"action": "accept"}}}, {"true", true}}
		c := t.client()
		t.wrongly(1, q, bad, func(r wire.Request, bad badAnswer) wire.Request {
			return withParam(c, r, "inputResponses", bad.response)
		})
	}
}

// underOtherKeys gives the answer under keys that are not the question's.
func (t *trial) underOtherKeys(round int, q wire.Question) {
	var bad []badAnswer
	for _, w := range append(neighbours(q.Key), wrongValue{"another key", "another_" + q.Key}) {
		bad = append(bad, badAnswer{"an answer under a key " + w.what, w.value})
	}
	bad = append(bad, badAnswer{"an answer nested under __proto__", "__proto__"})
	t.wrongly(round, q, bad, func(r wire.Request, bad badAnswer) wire.Request {
		here, key := t.here(q), bad.response.(string)
		if key == here.Key {
			key += "x"
		}
		var response = t.honestly(here)
		if key == "__proto__" {
			response = map[string]any{here.Key: response}
		}
		return withResponse(withResponse(r, here.Key, absent), key, response)
	})
}

func noAnswers() []badAnswer {
	return []badAnswer{{"null", nil}, {"a number", 7}, {"a text", "yes"}, {"a list", []any{"accept"}}, {"true", true}}
}

func otherKinds(q wire.Question) []badAnswer {
	kinds := []badAnswer{
		{"a form's response", accepting(map[string]any{})},
		{"a sampling response", map[string]any{"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "yes"}}},
		{"a roots response", map[string]any{"roots": []any{}}},
	}
	own := slices.Index([]string{"elicitation/create", "sampling/createMessage", "roots/list"}, q.Method)
	if own < 0 {
		return kinds
	}
	return slices.Delete(kinds, own, own+1)
}

// otherActions are all but accept, with the content of an answer that accepts, and accept without
// content.
func otherActions(q wire.Question, honest any) (all []badAnswer) {
	accepted, ok := honest.(map[string]any)
	if q.Method != "elicitation/create" || !ok {
		return nil
	}
	for _, action := range actions() {
		all = append(all, badAnswer{"the action " + marshal(action), with(accepted, "action", action)})
	}
	missing := maps.Clone(accepted)
	delete(missing, "action")
	all = append(all, badAnswer{"no action", missing})
	if schema, err := readSchema(q.Schema); isForm(q) && err == nil && len(schema.Required) > 0 {
		all = append(all, badAnswer{"an acceptance without content", map[string]any{"action": "accept"}},
			badAnswer{"an acceptance whose content is null", accepting(nil)}, badAnswer{"an acceptance whose content is empty", accepting(map[string]any{})})
	}
	return all
}

func againstSchema(t *trial) {
	tried := false
	for i, q := range t.needed() {
		schema, err := readSchema(q.Schema)
		content := contentOf(t.honestly(q))
		if !isForm(q) || err != nil || content == nil {
			continue
		}
		var bad []badAnswer
		for _, w := range wrongObjects(schema, content) {
			bad = append(bad, badAnswer{"a form " + w.what, accepting(w.value)})
		}
		tried = tried || len(bad) > 0
		t.wrongly(i, q, bad, t.instead(q))
	}
	if !tried {
		t.skip("needs a form whose schema can be broken")
	}
}

// extras have something to say of their own, other content for the questions of the round or of
// one before, and members that no form has.
func extras(t *trial) {
	const nobody = "nobody_asked"
	for _, i := range t.rounds() {
		s := t.goesAsBefore(i, func(r wire.Request) wire.Request {
			r = withResponse(r, nobody, accepting(t.stuffing(nil)))
			for _, q := range t.asked(i) {
				here := t.here(q)
				if other := t.otherwise(q); other != nil {
					r = withResponse(r, nobody+"_"+q.Key, other)
				}
				if honest, ok := t.honestly(here).(map[string]any); ok && isForm(q) && !closedForm(q) {
					r = withResponse(r, here.Key, accepting(t.stuffing(contentOf(honest))))
				}
			}
			for earlier := 1; earlier < i; earlier++ {
				for _, q := range t.asked(earlier) {
					again := func(now wire.Question) bool { return now.Key == q.Key }
					if other := t.otherwise(q); other != nil && !slices.ContainsFunc(t.asked(i), again) {
						r = withResponse(r, q.Key, other)
					}
				}
			}
			return r
		})
		if t.goesOn(i, s) {
			continue
		}
		// A form may refuse what it does not have.
		s = t.goesAsBefore(i, func(r wire.Request) wire.Request { return withResponse(r, nobody, accepting(t.stuffing(nil))) })
		if !t.goesOn(i, s) {
			t.failAt(s, "the call goes another way with answers to questions that were not asked")
		}
	}
}

// closedForm reports whether a form allows no properties but its own.
func closedForm(q wire.Question) bool {
	schema, err := readSchema(q.Schema)
	return err == nil && closed(schema)
}

// goesAsBefore makes an honest call with one request changed, which may be refused, and otherwise
// must have the effects of an honest one.
func (t *trial) goesAsBefore(round int, change func(wire.Request) wire.Request) exchange {
	since := t.counting()
	s := t.send(t.client(), change(t.reach(t.client(), round)))
	t.answered(s)
	end := s
	if t.goesOn(round, s) {
		end = t.finish(t.client(), s)
	}
	got := since()
	t.onlyAllowed(got, t.usual(), s, "with more than was asked for")
	want := steady(t.named, t.varies)
	if got := steady(got, t.varies); end.complete() && len(want) > 0 && len(got) > 0 && !maps.Equal(got, want) {
		t.failAt(s, "with more than was asked for, %s instead of %s", got, want)
	}
	return s
}

// stuffing adds members that no form has to a content: names that mean something elsewhere.
func (t *trial) stuffing(content map[string]any) map[string]any {
	all := map[string]any{"a": "b", "confirm": true, "confirmed": true, "force": true, "amount": 99, "price": 99, "currency": "USD", "admin": true}
	for name, value := range t.scenario.Arguments {
		others := append(otherValues(value, nil), "x")
		all[name] = others[0]
	}
	for name := range t.named {
		_, members := membersOf(name)
		for _, m := range members {
			all[strings.TrimSpace(m.name)] = 99
		}
	}
	delete(all, "")
	maps.Copy(all, content)
	return all
}

// ahead begins a call with all of its answers, and then sends the answers of a later round with
// the state of an earlier one, and beside its answers.
func ahead(t *trial) {
	if !t.stateless() { // else a server cannot know what it has asked
		r := t.request(t.scenario.Arguments)
		for _, q := range t.honest.questions() {
			r = withResponse(r, q.Key, t.honestly(q))
		}
		since := t.counting()
		s := t.exchange(t.client(), r)
		t.onlyAllowed(since(), t.atTheStart(1), s, "by answers to nothing that was asked")
	}
	if t.final() < 2 {
		return
	}
	for _, i := range t.rounds()[:t.final()-1] {
		if t.keysMeet(i, i+1) {
			continue
		}
		later := t.reach(t.client(), i+1).Responses
		for _, change := range []func(wire.Request) wire.Request{
			func(r wire.Request) wire.Request { r.Responses = later; return r },
			func(r wire.Request) wire.Request { return t.besides(i, r) },
			func(r wire.Request) wire.Request { return t.within(i, r) },
		} {
			r := t.reach(t.client(), i)
			since := t.counting()
			s := t.exchange(t.client(), change(r))
			t.onlyAllowed(since(), t.stageOf(i), s, "by an answer to what was not asked yet")
			if s.complete() && !t.seesEnd() && !t.stateless() {
				t.failAt(s, "the answer was taken before its question was asked")
			}
		}
	}
}

func (t *trial) stageOf(round int) effects {
	if round < len(t.stages) {
		return t.stages[round]
	}
	return nil
}

// keysMeet says that two rounds ask under the same key.
func (t *trial) keysMeet(i, j int) bool {
	return slices.ContainsFunc(t.asked(i), func(a wire.Question) bool {
		return slices.ContainsFunc(t.asked(j), func(b wire.Question) bool { return a.Key == b.Key })
	})
}

// besides adds the answers of the next round to those of this one.
func (t *trial) besides(round int, r wire.Request) wire.Request {
	for _, q := range t.asked(round + 1) {
		r = withResponse(r, q.Key, t.honestly(q))
	}
	return r
}

// within adds the content of all later answers to the content of those of this round: a server
// that keeps whatever a form brings has them then.
func (t *trial) within(round int, r wire.Request) wire.Request {
	later := map[string]any{}
	for i := round + 1; i <= t.final(); i++ {
		for _, q := range t.asked(i) {
			maps.Copy(later, contentOf(t.honestly(q)))
		}
	}
	for _, q := range t.asked(round) {
		content := contentOf(t.honestly(q))
		if both := maps.Clone(later); content != nil && isForm(q) {
			maps.Copy(both, content)
			r = t.respond(r, q, accepting(both))
		}
	}
	return r
}
