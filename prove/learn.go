package prove

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Before any rule is tried the prover learns how an honest call goes: what it asks, which answer
// is the yes, which effects it has in which round, and how late they come.

func (p *prover) prepare(ctx context.Context) (err error) {
	f := p.try(ctx, Rule{Name: "prepare", try: func(t *trial) {
		c := t.client()
		t.last = t.counted() // a count that fails is heard of before anything is called
		t.look(c)
		t.learnTheCall(c)
		first := t.honest
		p.try(ctx, Rule{Name: "prepare", try: func(t *trial) { t.learnTheLag(ctx) }}) // which may end the server
		t.hangUp()
		t.revive()
		t.learnTheEffects()
		t.honest.constant = slices.Equal(t.honest.states(), first.states()) && !slices.ContainsFunc(t.honest.states(), func(state string) bool {
			r := read(state)
			return r == nil || r.text != state
		})
		t.learnTheRefusals()
	}})
	if f.Outcome == Pass {
		return ctx.Err()
	}
	return errors.New("prove: nothing could be proved: " + f.Detail)
}

// look finds the tool, and calls none.
func (t *trial) look(c *wire.Client) {
	t.tool = t.findTool(c)
	t.tasks = t.offersTasks(c)
	if t.scenario.Arguments == nil {
		t.scenario.Arguments = t.madeArguments()
		if t.scenario.OtherArguments == nil { // as harmless as the first
			t.scenario.OtherArguments = t.madeOtherArguments()
		}
	}
}

// learnTheCall plays the call until it asks, which a tool may do only sometimes.
func (t *trial) learnTheCall(c *wire.Client) {
	for n := 1; ; n++ {
		t.reset()
		played := t.play(c, t.honestly)
		end := played.end()
		switch {
		case end.reply != nil && end.reply.ResultType == "task":
			t.failAt(end, "the call became a task for a client that takes none")
		case end.complete() && len(played.exchanges) > 1:
			if asked := len(played.questions()); asked > maxQuestions {
				t.fail("an honest call is asked %d questions, more than %d", asked, maxQuestions)
			}
			p := t.prover
			p.honest = played
			t.learnTheYes(c)
			return
		case n < mostReaches && end.reply != nil && !end.asks():
			t.wait(busyFor << (n / 4))
		case end.complete():
			t.fail("the call asks nothing with these arguments: %s", marshal(t.scenario.Arguments))
		default:
			t.failAt(end, "an honest call of %q does not complete: %s", t.scenario.Tool, end.outline())
		}
	}
}

// learnTheYes looks for the choice that has the effect, if the one that was made has none.
func (t *trial) learnTheYes(c *wire.Client) {
	if t.subject.Effects == nil || t.hasEffect(func() {}) || t.watched(t.ctx, t.options.Late) > 0 {
		return
	}
	asked := t.honest.questions()
	slices.Reverse(asked)
	for _, q := range asked {
		schema, err := readSchema(q.Schema)
		if !isForm(q) || err != nil {
			continue
		}
		for _, name := range q.Properties() {
			if _, given := t.scenario.Answers[q.Key]; given || t.scenario.Answers[name] != nil {
				continue
			}
			choices := choicesOf(schema.Properties[name])
			if schema.Properties[name] != nil && schema.Properties[name].Type == "boolean" {
				continue // false is no yes, whatever it does
			}
			for _, choice := range choices[:min(len(choices), 6)] {
				t.prover.chosen = map[string]any{asksFor(q) + " " + name: choice}
				var played *playedCall
				if t.hasEffect(func() { played = t.play(c, t.honestly) }) && played.end().complete() {
					t.prover.honest = played
					return
				}
			}
		}
	}
	t.prover.chosen = nil
}

// hasEffect reports whether anything has happened since the last count, and in f.
func (t *trial) hasEffect(f func()) bool {
	before := t.book.last
	f()
	t.wait(margin)
	t.book.last = t.counted()
	return len(grown(before, t.book.last)) > 0
}

// choicesOf are the values that a property offers.
func choicesOf(s *jsonschema.Schema) []any {
	if s == nil {
		return nil
	}
	if s.Type == "boolean" && len(s.Enum) == 0 {
		return []any{true, false}
	}
	return slices.Concat(s.Enum, titled(s))
}

// learnTheLag makes one call of each kind that has no effect, or should have none, and looks how
// long behind them effects still come.
func (t *trial) learnTheLag(ctx context.Context) {
	if t.subject.Effects == nil {
		return
	}
	c := t.client()
	t.book.settle = margin
	for _, s := range []say{decline, cancel, no, silent} {
		t.perform([]act{begin(), answer(0, s), answer(1, s)})
		t.perform(append(straight(t.final()-1), answer(t.final()-1, s)))
	}
	t.send(c, t.request(nil))
	if c, err := t.tryDial(t.subject.Dial, t.subject.First, &wire.Options{Capabilities: wire.Nothing}); err == nil {
		t.send(c, t.request(t.scenario.Arguments))
	}
	since := t.counting()
	p := t.perform(straight(t.final()))
	if t.book.named = since(); p.last().complete() {
		t.send(t.client(), p.last().request)
	}
	if lag := t.watched(ctx, t.options.Late); lag > margin {
		t.book.settle = lag + lag/4 + margin
	}
	t.book.last = t.counted()
}

// learnTheEffects counts those of an honest call, round after round.
func (t *trial) learnTheEffects() {
	if t.subject.Effects == nil {
		return
	}
	for n := 1; ; n++ {
		t.reset()
		played, stages, named := &playedCall{}, []effects{}, effects{}
		r := t.request(t.scenario.Arguments)
		for range maxRounds {
			since := t.counting()
			s := t.send(t.client(), r)
			happened := since()
			stages, named = append(stages, happened.plain()), plus(named, happened)
			played.exchanges = append(played.exchanges, s)
			if !s.asks() {
				break
			}
			r = t.next(s, t.honestly)
		}
		end := played.end()
		if end.complete() && len(stages) == len(t.honest.exchanges) {
			t.prover.honest, t.book.stages = played, stages
			t.book.varies, t.book.named = varying(t.named, named), named
			return
		}
		if n == mostReaches {
			t.failAt(end, "an honest call ended otherwise than before: %s", end.outline())
		}
		t.wait(busyFor << (n / 3))
	}
}

// learnTheRefusals sends the requests of an honest call without their state, and with one that
// nobody made.
func (t *trial) learnTheRefusals() {
	n := len(t.honest.exchanges)
	t.prover.without, t.prover.turnedAway = make([]exchange, n), make([]exchange, n)
	if t.stateless() {
		return
	}
	for _, i := range t.rounds() {
		r := t.reach(t.client(), i)
		r.State = ""
		t.without[i] = t.send(t.client(), r)
		r.State = "nobody-made-this"
		t.turnedAway[i] = t.send(t.client(), r)
	}
	t.book.last = t.counted()
}

// madeArguments are made from the input schema.
func (t *trial) madeArguments() map[string]any {
	if t.tool.input == nil {
		t.fail("its inputSchema does not read: %v", t.tool.inputErr)
	}
	arguments, err := t.tool.sample()
	if err != nil {
		t.fail("no arguments can be made from its inputSchema: %v", err)
	}
	return arguments
}

// madeOtherArguments fit the input schema too, and differ from the first wherever they can. They
// are nil if there are none.
func (t *trial) madeOtherArguments() map[string]any {
	made, _ := differing(t.tool.input, t.scenario.Arguments, t.tool.input.Properties, func(name string) []any {
		property := t.tool.input.Properties[name]
		if given, has := t.scenario.Arguments[name]; has {
			return otherValues(given, property)
		}
		value, err := (&sampler{maxSampleValues, maxSampleBytes}).value(property, 0)
		if err != nil {
			return nil
		}
		return []any{value}
	})
	return made
}

// otherwise answers a question differently: as the scenario says, or with another
// value that fits its form. It is nil if there is none.
func (t *trial) otherwise(q wire.Question) any {
	if t.scenario.OtherAnswers != nil {
		return t.answer(q, t.scenario.OtherAnswers)
	}
	content, err := otherContent(q, contentOf(t.honestly(q)))
	if err != nil || content == nil {
		return nil
	}
	return accepting(content)
}

// otherContent changes each value of a form's content that can be another and is no consent. It
// is nil if there are none.
func otherContent(q wire.Question, given map[string]any) (map[string]any, error) {
	schema, err := readSchema(q.Schema)
	if err != nil || !isForm(q) {
		return nil, err
	}
	return differing(schema, given, given, func(name string) []any {
		if _, no := consent(name, schema.Properties[name]); no != nil {
			return nil
		}
		return otherValues(given[name], schema.Properties[name])
	})
}

// differing is an object that fits a schema as the given one does, with another of the values for
// each of the names that can have one. It is nil if none can.
func differing[T any](schema *jsonschema.Schema, given map[string]any, names map[string]T, values func(name string) []any) (other map[string]any, err error) {
	defer guarded(&err)
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, value := range values(name) {
			before := other
			if before == nil {
				before = given
			}
			if changed := with(before, name, value); resolved.Validate(changed) == nil && marshal(changed) != marshal(before) {
				other = changed
				break
			}
		}
	}
	return other, nil
}

func otherValues(value any, schema *jsonschema.Schema) (others []any) {
	if schema != nil {
		others = slices.Concat(schema.Enum, titled(schema))
	}
	switch v := value.(type) {
	case bool:
		others = append(others, !v)
	case string:
		others = append(others, v+"x", "x"+v[min(len(v), 1):])
	case float64:
		others = append(others, v+1, v-1)
	case int:
		others = append(others, v+1, v-1)
	}
	return others
}
