package prove

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

var answerRules = []Rule{
	{"answer/missing", "A question whose answer was left out is asked again, and can then be answered.", Should, reasking, missing},
	{"answer/null", "An answer that is null is no answer.", Should, answering, instead(nullAnswer)},
	{"answer/wrong-kind", "The answer to another kind of question is not taken.", Should, answering, instead(otherKinds)},
	{"answer/not-an-object", "An answer that is no object is not taken.", Should, answering, instead(notObjects)},
	{"answer/bad-action", "An answer is accepted by the action accept alone.", Should, answering, instead(badActions)},
	{"answer/without-content", "A form that was accepted without its content is not taken.", Should, answering, instead(withoutContent)},
	{"answer/against-schema", "Content that breaks the question's own schema is not taken.", Should, fitting, instead(againstSchema)},
	{"answer/wrong-key", "An answer under another key than its question's is not taken.", Should, ignoring, wrongKey},
	{"answer/extra-keys", "Well-formed answers to questions that were not asked change nothing.", Should, ignoring, extraKeys},
	{"answer/no-map", "Responses that are no map answer nothing.", Should, answering, noMap},
	{"answer/prototype-keys", "An answer that is nested under __proto__ is not taken.", Ours, "a key is a name and reaches no prototype", prototypeKeys},
	{"answer/declined", "A declined question ends the call, and not as if it was accepted.", Should, actions, unwilling("decline")},
	{"answer/cancelled", "A cancelled question ends the call, and not as if it was accepted.", Should, actions, unwilling("cancel")},
	{"answer/false", "A yes-or-no question that is answered no is not taken for a yes.", Ours, "nobody has agreed to it", answeredNo},
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

// instead answers each question with bad answers in place of the honest one.
func instead(of func(q wire.Question, honest any) []badAnswer) func(*trial) {
	return func(t *trial) {
		tried := 0
		for i, q := range t.needed() {
			for _, bad := range of(q, t.honestly(q)) {
				tried++
				t.takesNot(i, q, bad.what, t.respond(t.reach(t.client(), i), q, bad.response))
			}
		}
		if tried == 0 {
			t.skip("needs a question that can be answered so")
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

// takesNot sends a request without a valid answer to q, and fails if it was taken for one: by
// its effect, or by the reply. The call may end in an error, ask again, or end as it does for a
// user who says no.
func (t *trial) takesNot(round int, q wire.Question, what string, r wire.Request) exchange {
	before := t.count()
	s := t.exchange(t.client(), r)
	again := t.isAsked(s, q)
	effect := t.charged(before)
	switch taken := fmt.Sprintf("%s was taken for an answer to %q: ", what, q.Key); {
	case effect != "" && !again:
		t.failAt(s, "%s%q happened", taken, effect)
	case s.refused():
	case s.asks():
		if !again && (t.same(s, t.honest.exchanges[round]) || t.asksNext(round, s)) {
			t.failAt(s, "%sthe call goes on", taken)
		}
	case t.surely(s, t.honest.end()):
		t.failAt(s, "%sthe call completes as if it was answered", taken)
	case len(t.honest.below) > 0: // and it had no effect
	case !slices.ContainsFunc(t.unwillingEnds(round, q), func(end likeness) bool { return end.fits(s.outline()) }):
		t.failAt(s, "%sthe call completes, and not as for a user who says no", taken)
	}
	return s
}

// isAsked reports whether a reply asks a question of the honest call.
func (t *trial) isAsked(s exchange, q wire.Question) bool {
	return s.asks() && slices.ContainsFunc(s.reply.Asks, func(asked wire.Question) bool { return t.isQuestion(q, asked) })
}

// charged names an effect of an honest call that has happened since; "" if none has, or nobody
// counts. An effect that an honest call does not have undoes another, or tells of it.
func (t *trial) charged(before map[string]int) string {
	if t.subject.Effects == nil {
		return ""
	}
	effects := t.since(before)
	for _, name := range slices.Sorted(maps.Keys(effects)) {
		if effects[name] > 0 && t.honest.effects[name] > 0 {
			return name
		}
	}
	return ""
}

// retold is a response to a question of the honest call, for the same question of another call,
// whose form may have another name for its only property.
func retold(q, here wire.Question, response any) any {
	accepted, ok := response.(map[string]any)
	content, has := accepted["content"].(map[string]any)
	value, named := content[q.Key]
	if !ok || !has || !named || here.Key == q.Key || !slices.Contains(here.Properties(), here.Key) {
		return response
	}
	moved := maps.Clone(content)
	delete(moved, q.Key)
	moved[here.Key] = value
	return with(accepted, "content", moved)
}

// asksNext reports whether a reply asks a question that follows a round. It may quote what was
// answered, and so read otherwise than in the honest call.
func (t *trial) asksNext(round int, s exchange) bool {
	return round < t.last() && slices.ContainsFunc(t.asked(round+1), func(next wire.Question) bool { return t.isAsked(s, next) })
}

// unwillingEnds are the replies to a user who says no: who declines or cancels the
// question, or answers false.
func (t *trial) unwillingEnds(round int, q wire.Question) (ends []likeness) {
	noes := []any{map[string]any{"action": "decline"}, map[string]any{"action": "cancel"}}
	for _, no := range t.noes(q) {
		noes = append(noes, accepting(no))
	}
	for _, no := range noes {
		var texts []string
		for range 2 {
			r := t.respond(t.reach(t.client(), round), q, no)
			texts = append(texts, t.send(t.client(), r).outline())
		}
		ends = append(ends, likenessOf(texts...))
	}
	return ends
}

func missing(t *trial) {
	for i, q := range t.needed() {
		r := t.respond(t.reach(t.client(), i), q, absent)
		if len(r.Responses.(map[string]any)) == 0 {
			r.Responses = nil
		}
		s := t.takesNot(i, q, "no response", r)
		if !s.asks() {
			t.failAt(s, "the question %q is not asked again", q.Key)
		}
		s = t.finish(t.client(), s) // a server may ask for one thing at a time
		if !t.same(s, t.honest.end()) {
			t.failAt(s, "asked again and answered, the call does not end as it should")
		}
	}
}

func nullAnswer(wire.Question, any) []badAnswer { return []badAnswer{{"null", nil}} }

func otherKinds(q wire.Question, _ any) []badAnswer {
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

func notObjects(wire.Question, any) []badAnswer {
	return []badAnswer{{"a number", 7}, {"a text", "yes"}, {"a list", []any{"accept"}}, {"true", true}}
}

func badActions(q wire.Question, honest any) []badAnswer {
	accepted, ok := honest.(map[string]any)
	if q.Method != "elicitation/create" || !ok {
		return nil
	}
	var all []badAnswer
	for _, action := range []any{"banana", "", "ACCEPT", nil, 7, []any{"accept"}} {
		all = append(all, badAnswer{"the action " + marshal(action), with(accepted, "action", action)})
	}
	without := maps.Clone(accepted)
	delete(without, "action")
	return append(all, badAnswer{"no action", without})
}

func withoutContent(q wire.Question, _ any) []badAnswer {
	if !isForm(q) || len(required(q)) == 0 {
		return nil
	}
	return []badAnswer{
		{"an acceptance without content", map[string]any{"action": "accept"}},
		{"an acceptance whose content is null", accepting(nil)},
		{"an acceptance whose content is empty", accepting(map[string]any{})},
	}
}

func isForm(q wire.Question) bool {
	return q.Method == "elicitation/create" && (q.Mode == "" || q.Mode == "form")
}

// form is a question's schema, as far as the rules look at it.
type form struct {
	Type       string                    `json:"type"`
	Properties map[string]map[string]any `json:"properties"`
	Required   []string                  `json:"required"`
}

func formOf(q wire.Question) (f form) {
	_ = json.Unmarshal(q.Schema, &f) // a schema that does not read has no properties
	return f
}

func required(q wire.Question) []string { return formOf(q).Required }

// longestText is as long as a text gets that is made here.
const longestText = 1 << 16

// againstSchema breaks one property of the honest content at a time.
func againstSchema(q wire.Question, honest any) []badAnswer {
	accepted, ok := honest.(map[string]any)
	if !ok || !isForm(q) {
		return nil
	}
	given, _ := accepted["content"].(map[string]any)
	var all []badAnswer
	add := func(name, is string, value any) {
		all = append(all, badAnswer{"a form whose " + name + " is " + is, accepting(with(given, name, value))})
	}
	properties := formOf(q).Properties
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name]
		switch p["type"] {
		case "string":
			add(name, "a number", 7)
			add(name, "an object", map[string]any{"a": "b"})
			if value, has := given[name]; has {
				add(name, "a list of its text", []any{value})
			}
			if p["enum"] != nil || p["oneOf"] != nil {
				for _, other := range []string{"none-of-the-choices", "", "constructor", "__proto__"} {
					add(name, "none of the choices", other)
				}
			}
			if form := p["format"]; form == "email" || form == "uri" || form == "date" || form == "date-time" {
				add(name, "no "+form.(string), "not-one")
			}
			if least, ok := p["minLength"].(float64); ok && least > 0 && least < longestText {
				add(name, "too short", strings.Repeat("x", int(least)-1))
			}
			if most, ok := p["maxLength"].(float64); ok && most < longestText {
				add(name, "too long", strings.Repeat("x", int(most)+1))
			}
		case "boolean":
			add(name, "a text", "yes")
			add(name, "a text", "false")
			add(name, "a number", 1)
		case "integer", "number":
			add(name, "a text", "many")
			add(name, "a text", strings.Trim(marshal(given[name]), `"`))
			add(name, "a truth value", true)
			if p["type"] == "integer" {
				add(name, "a fraction", 1.5)
			}
			if least, ok := p["minimum"].(float64); ok {
				add(name, "less than its minimum", least-1)
			}
			if most, ok := p["maximum"].(float64); ok {
				add(name, "more than its maximum", most+1)
			}
		case "array":
			add(name, "a text", "none-of-the-choices")
			add(name, "a list of other things", []any{"none-of-the-choices"})
			value, _ := given[name].([]any)
			if least, ok := p["minItems"].(float64); ok && least > 0 && len(value) > 0 {
				add(name, "too short", value[:min(len(value), int(least)-1)])
			}
			if most, ok := p["maxItems"].(float64); ok && len(value) > 0 && most < 1000 {
				add(name, "too long", slices.Repeat(value, int(most)/len(value)+1))
			}
		}
		if slices.Contains(required(q), name) {
			add(name, "null", nil)
			if len(given) > 1 { // or it is empty, which another rule tries
				without := maps.Clone(given)
				delete(without, name)
				all = append(all, badAnswer{"a form without its " + name, accepting(without)})
			}
		}
	}
	return all
}

func wrongKey(t *trial) {
	for i, q := range t.needed() {
		for _, spell := range []func(string) string{func(key string) string { return "another_" + key }, strings.ToUpper} {
			r := t.reach(t.client(), i)
			here := t.here(q)
			if other := spell(here.Key); other != here.Key {
				r = withResponse(r, here.Key, absent)
				t.takesNot(i, q, "an answer under another key", withResponse(r, other, t.honestly(here)))
			}
		}
	}
}

// answeredNo answers each question that is for a yes with a no.
func answeredNo(t *trial) {
	tried := false
	for _, q := range t.needed() {
		for _, no := range t.noes(q) {
			tried = true
			end, effect := t.sayNo(q, accepting(no))
			switch {
			case effect != "":
				t.failAt(end, "%q happened after a no to %q", effect, q.Key)
			case end.complete() && t.surely(end, t.honest.end()):
				t.failAt(end, "the call completes after a no to %q as after a yes", q.Key)
			}
		}
	}
	if !tried {
		t.skip("needs a form in which the user says yes or no")
	}
}

// wants is the property that a question is for: the only one, or the only one that it requires;
// "" where it has several.
func wants(q wire.Question) string {
	properties := q.Properties()
	if len(properties) > 1 {
		properties = required(q)
	}
	if !isForm(q) || len(properties) != 1 {
		return ""
	}
	return properties[0]
}

func extraKeys(t *trial) {
	for _, i := range t.rounds() {
		for _, extra := range t.extras(i) {
			r := t.reach(t.client(), i)
			s := t.exchange(t.client(), withResponse(r, extra.key, extra.response))
			if !t.same(s, t.honest.exchanges[i]) {
				t.failAt(s, "the call goes another way with %s", extra.what)
			}
		}
	}
}

// extra is a well-formed answer to no question of its round.
type extra struct {
	what, key string
	response  any
}

// extras have something to say of their own, or other content for the questions of the round or
// of one before.
func (t *trial) extras(round int) []extra {
	const nobody = "nobody_asked"
	all := []extra{{"an answer to a question that was not asked", nobody, accepting(map[string]any{"a": "b"})}}
	for _, q := range t.asked(round) {
		if other := t.otherwise(q); other != nil {
			all = append(all, extra{"another answer to " + q.Key + " under a key that was not asked for", nobody, other})
		}
	}
	for earlier := 1; earlier < round; earlier++ {
		for _, q := range t.asked(earlier) {
			again := func(now wire.Question) bool { return now.Key == q.Key }
			if other := t.otherwise(q); other != nil && !slices.ContainsFunc(t.asked(round), again) {
				all = append(all, extra{"another answer to " + q.Key + ", which was answered before", q.Key, other})
			}
		}
	}
	return all
}

func noMap(t *trial) {
	for _, q := range t.asked(1) {
		for _, responses := range []any{7, "accept", []any{map[string]any{"action": "accept"}}, true} {
			r := t.reach(t.client(), 1)
			t.takesNot(1, q, "a "+jsonKind(responses), withParam(t.client(), r, "inputResponses", responses))
		}
	}
}

func jsonKind(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case []any:
		return "list"
	case bool:
		return "truth value"
	}
	return "number"
}

func prototypeKeys(t *trial) {
	for i, q := range t.needed() {
		r := t.respond(t.reach(t.client(), i), q, absent)
		here := t.here(q)
		t.takesNot(i, q, "an answer nested under __proto__", withResponse(r, "__proto__", map[string]any{here.Key: t.honestly(here)}))
	}
}

// sayNo plays a call in which q is answered so whenever it comes. It names an effect of an
// honest call that happened since q was asked.
func (t *trial) sayNo(q wire.Question, no any) (end exchange, effect string) {
	var asked map[string]int
	said := false
	played := t.playWith(t.client(), t.scenario.Arguments, func(other wire.Question) any {
		if !t.isQuestion(q, other) {
			return t.honestly(other)
		}
		if !said {
			said, asked = true, t.count()
		}
		return retold(q, other, no)
	})
	t.answered(played.end())
	if said {
		effect = t.charged(asked)
	}
	return played.end(), effect
}

// unwilling declines or cancels each question, whenever it comes, and plays the
// call to its end.
func unwilling(action string) func(*trial) {
	return func(t *trial) {
		tried := false
		var again func() // the specification lets a server prompt again after a cancel
		for _, q := range t.needed() {
			if q.Method != "elicitation/create" {
				continue
			}
			tried = true
			noes := []any{map[string]any{"action": action}}
			if honest, ok := t.honestly(q).(map[string]any); ok && isForm(q) { // a form that was filled in before
				noes = append(noes, with(honest, "action", action))
			}
			for _, no := range noes {
				end, effect := t.sayNo(q, no)
				switch {
				case effect != "":
					t.failAt(end, "%q happened after a %s of %q", effect, action, q.Key)
				case end.asks() && action == "cancel":
					again = func() { t.endAt(Note, end, "%q is asked for ever after a cancel", q.Key) }
				case end.asks():
					t.failAt(end, "%q is asked for ever after a %s", q.Key, action)
				case end.complete() && t.surely(end, t.honest.end()):
					t.failAt(end, "the call completes after a %s of %q as if it was accepted", action, q.Key)
				}
			}
		}
		if !tried {
			t.skip("needs a question that can be declined")
		}
		if again != nil {
			again()
		}
	}
}
