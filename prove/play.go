package prove

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/wire"
)

// playedCall is a call from its first request to its last.
type playedCall struct {
	exchanges []exchange
	effects   map[string]int
	above     map[string]int // the effects before the first question
	below     map[string]int // and those behind the last
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
func (t *trial) play(c *wire.Client, arguments, answers map[string]any) *playedCall {
	return t.playWith(c, arguments, func(q wire.Question) any { return t.answer(q, answers) })
}

func (t *trial) playWith(c *wire.Client, arguments map[string]any, answer wire.Answer) *playedCall {
	return &playedCall{exchanges: t.follow(c, t.send(c, t.request(arguments)), answer)}
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

// reach makes an honest call up to a round, and returns the request of that round
// without sending it.
func (t *trial) reach(c *wire.Client, round int) wire.Request {
	r := t.request(t.scenario.Arguments)
	for i := range round {
		s := t.send(c, r)
		if !s.asks() {
			t.failAt(s, "the honest call stopped in round %d: %s", i+1, s.outline())
		}
		t.learn(i, s)
		r, t.asks = t.next(s, t.honestly), s.reply.Asks
	}
	return r
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
	for i := 1; i <= t.last(); i++ {
		rounds = append(rounds, i)
	}
	return rounds
}

// asked are the questions that the honest request of a round answers.
func (t *trial) asked(round int) []wire.Question { return t.honest.exchanges[round-1].reply.Asks }

// last is the index of the honest call's last request.
func (t *trial) last() int { return len(t.honest.exchanges) - 1 }

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
	content, err := content(q, answers)
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

func content(q wire.Question, answers map[string]any) (map[string]any, error) {
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
	return sampleForm(schema, properties)
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

// count is how often each effect happened so far; nil if nobody counts.
func (t *trial) count() map[string]int {
	if t.subject.Effects == nil {
		return nil
	}
	n, err := t.subject.Effects(t.ctx)
	if err != nil {
		t.fail("the effects cannot be counted: %v", err)
	}
	return n
}

// since is how often each effect happened since it was counted before.
func (t *trial) since(before map[string]int) map[string]int {
	return grown(before, t.count())
}

// surplus says which effect happened more often than it may; "" if none did.
func surplus(effects map[string]int, may func(name string) int) string {
	for _, name := range slices.Sorted(maps.Keys(effects)) {
		if effects[name] > may(name) {
			return fmt.Sprintf("%q happened %d times instead of %d", name, effects[name], may(name))
		}
	}
	return ""
}

// times is how often the scenario says that a call has an effect.
func (t *trial) times(name string) int {
	if n, named := t.scenario.Times[name]; named {
		return n
	}
	return 1
}

// usual is how often an honest call has an effect, which may be too often
// already: that is another rule's finding.
func (t *trial) usual(name string) int { return max(t.honest.effects[name], t.times(name)) }
