package prove

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/wire"
)

// playedCall is a call from its first request to its last.
type playedCall struct {
	exchanges []exchange
	// constant says that the states are plain text, and the same in another call: a
	// report can quote them and is the same each time.
	constant bool
}

// states are those that the server handed out, in order.
func (c *playedCall) states() []string {
	var all []string
	for _, s := range c.exchanges {
		if s.asks() && s.reply.State != "" {
			all = append(all, s.reply.State)
		}
	}
	return all
}

func (c *playedCall) end() exchange { return c.exchanges[len(c.exchanges)-1] }

// questions are all that were asked, in order.
func (c *playedCall) questions() []wire.Question {
	var all []wire.Question
	for _, s := range c.exchanges {
		if s.asks() {
			all = append(all, s.reply.Asks...)
		}
	}
	return all
}

const (
	maxRounds    = 20 // more than a client goes along with
	maxQuestions = 50 // of a call
)

// play makes a call, and answers it to its end.
func (t *trial) play(c *wire.Client, answer wire.Answer) *playedCall {
	return &playedCall{exchanges: t.follow(c, t.send(c, t.request(t.scenario.Arguments)), answer)}
}

// follow answers a reply that asks, round after round, and returns it with all that
// came after it.
func (t *trial) follow(c *wire.Client, s exchange, answer wire.Answer) []exchange {
	all := []exchange{s}
	for len(all) < maxRounds && s.asks() {
		s = t.send(c, t.next(s, answer))
		all = append(all, s)
	}
	return all
}

// finish brings a call to its end as an honest client does, and returns its last
// exchange.
func (t *trial) finish(c *wire.Client, s exchange) exchange {
	all := t.follow(c, s, t.honestly)
	return all[len(all)-1]
}

// next is the request that follows a reply that asks.
func (t *trial) next(s exchange, answer wire.Answer) wire.Request {
	r := s.request
	r.State, r.Responses = s.reply.State, nil
	responses := map[string]any{}
	for _, q := range s.reply.Asks {
		if response := answer(q); response != nil {
			responses[q.Key] = response
		}
	}
	if len(responses) > 0 {
		r.Responses = responses
	}
	return r
}

// request is the first of a call.
func (t *trial) request(arguments map[string]any) wire.Request {
	return wire.Request{Name: t.scenario.Tool, Arguments: arguments}
}

// A tool may ask only sometimes, or be busy: then the call is made anew.
const (
	mostReaches = 8
	busyFor     = 250 * time.Millisecond
)

// reach makes an honest call up to a round, and returns the request of that round
// without sending it.
func (t *trial) reach(c *wire.Client, round int) wire.Request {
	t.reset()
	for n := 1; ; n++ {
		r, s, reached := t.reachOnce(c, round)
		if reached {
			return r
		}
		if n == mostReaches || s.reply == nil {
			t.failAt(s, "the honest call goes another way than before: %s", s.outline())
		}
		if s.refused() {
			t.wait(busyFor << (n / 3))
		}
		t.forgive(func() {}) // what the call has done that did not ask
	}
}

func (t *trial) reachOnce(c *wire.Client, round int) (r wire.Request, s exchange, reached bool) {
	r = t.request(t.scenario.Arguments)
	for i := range round {
		if s = t.send(c, r); !s.asks() || t.honest != nil && !t.asksAsBefore(s, i) {
			return r, s, false
		}
		r, t.asks = t.next(s, t.honestly), s.reply.Asks
	}
	return r, s, true
}

// asksAsBefore reports whether a reply asks what the honest call asked in a round.
func (t *trial) asksAsBefore(s exchange, round int) bool {
	before := t.honest.exchanges[round].reply.Asks
	return len(before) == len(s.reply.Asks) && !slices.ContainsFunc(before, func(q wire.Question) bool { return !t.isAsked(s, q) })
}

// withState reaches each round whose request carries a state.
func (t *trial) withState(c *wire.Client) iter.Seq2[int, wire.Request] {
	return func(yield func(int, wire.Request) bool) {
		for _, i := range t.rounds() {
			if r := t.reach(c, i); r.State != "" && !yield(i, r) {
				return
			}
		}
	}
}

// rounds are the indices of the honest requests that answer something.
func (t *trial) rounds() []int {
	var rounds []int
	for i := 1; i <= t.final(); i++ {
		rounds = append(rounds, i)
	}
	return rounds
}

// asked are the questions that the honest request of a round answers.
func (t *trial) asked(round int) []wire.Question { return t.honest.exchanges[round-1].reply.Asks }

// final is the index of the honest call's last request.
func (t *trial) final() int { return len(t.honest.exchanges) - 1 }

// stateless says that the honest call has no state.
func (t *trial) stateless() bool { return len(t.honest.states()) == 0 }

// honestly answers as the scenario says.
func (t *trial) honestly(q wire.Question) any { return t.answer(q, t.scenario.Answers) }

// answer accepts a question, with the scenario's answer or values that fit it.
func (t *trial) answer(q wire.Question, answers map[string]any) any {
	if made := madeAnswers[q.Method]; made != nil {
		if given, ok := answers[q.Key]; ok {
			return given
		}
		return made
	}
	if q.Mode == "url" {
		return map[string]any{"action": "accept"}
	}
	content, err := t.content(q, answers)
	if err != nil {
		t.skip("the question %q cannot be answered: %v", q.Key, err)
	}
	return accepting(content)
}

// madeAnswers are those to questions that have no form, by method.
var madeAnswers = map[string]any{
	"sampling/createMessage": map[string]any{"role": "assistant", "model": "prove", "content": map[string]any{"type": "text", "text": "yes"}},
	"roots/list":             map[string]any{"roots": []any{map[string]any{"uri": "file:///tmp", "name": "tmp"}}},
}

func accepting(content any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

// contentOf is the content of an answer that accepts; nil if it has none.
func contentOf(response any) map[string]any {
	accepted, _ := response.(map[string]any)
	content, _ := accepted["content"].(map[string]any)
	return content
}

func (t *trial) content(q wire.Question, answers map[string]any) (map[string]any, error) {
	properties := q.Properties()
	value, given := answers[q.Key]
	if !given && len(properties) == 1 {
		value, given = answers[properties[0]] // the key may be another in each call
	}
	if whole, ok := value.(map[string]any); ok {
		return whole, nil
	}
	switch {
	case given && len(properties) == 1:
		return map[string]any{properties[0]: value}, nil
	case given && slices.Contains(properties, q.Key):
		return map[string]any{q.Key: value}, nil
	case given:
		return nil, fmt.Errorf("its form has %d properties, and the scenario's answer is one value", len(properties))
	}
	schema, err := readSchema(q.Schema)
	if err != nil {
		return nil, fmt.Errorf("its requestedSchema does not read: %w", err)
	}
	made, err := sampleForm(schema, properties)
	for _, name := range properties {
		if choice, known := t.chosen[asksFor(q)+" "+name]; known && made != nil {
			made[name] = choice
		}
	}
	return made, err
}

// sampleForm is content that fits a form, of a user who agrees. If the form requires
// nothing, it says something all the same.
func sampleForm(schema *jsonschema.Schema, properties []string) (map[string]any, error) {
	made, err := sample(schema)
	if err == nil && len(made) == 0 && len(properties) > 0 {
		one := *schema
		one.Required = properties[:1]
		made, err = sample(&one)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range properties {
		if yes, no := consent(name, schema.Properties[name]); no != nil {
			if _, required := made[name]; required || asksConsent(name) {
				made[name] = yes
			}
		}
	}
	return made, nil
}
