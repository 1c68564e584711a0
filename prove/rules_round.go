package prove

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/wire"
)

var roundRules = []Rule{
	{"round/swapped", "The state of one round is not taken with the answers of another.", Ours, "an answer belongs to the question that was asked", swapped},
	{"round/asked-ahead", "An answer that is sent before its question does not answer it.", Should, keyed, askedAhead},
	{"round/endless", "A call that gets no answer comes to an end.", Ours, "a client gives up after some rounds, and should be told before", endless},
	{"round/final-again", "A final round that is sent again has no second effect.", Must, singleUse, finalAgain},
	{"round/changed-answers", "A final round that is sent again with other answers has no second effect.", Must, singleUse, changedAnswers},
	{"round/at-once", "A final round that is sent several times at once has its effect once.", Must, singleUse, atOnce},
	{"round/lost-response", "A final round whose response was lost can be sent again, and has its effect once.", Must, singleUse, lostResponse},
	{"round/elsewhere", "A final round that is sent again to another instance has no second effect.", Must, singleUse, elsewhere},
	{"round/old-round", "An earlier round that is sent again, and played to the end, has no second effect.", Must, singleUse, oldRound},
	{"round/crash", "A round that is sent again after the server died behind its effect has no second effect.", Must, singleUse, crash},
}

// repeated ends a rule about single use if an effect happened too often. It is a
// failure if the tool promises single use or the proof is strict.
func (t *trial) repeated(before map[string]int, s exchange) {
	outcome := Note
	if t.scenario.SingleUse || t.scenario.Strict {
		outcome = Fail
	}
	t.atMost(t.usual, outcome, before, s)
}

// atMost ends a rule if an effect happened more often than it may since it was counted before.
func (t *trial) atMost(may func(name string) int, outcome Outcome, before map[string]int, s exchange) {
	if too := surplus(t.since(before), may); too != "" {
		t.endAt(outcome, s, "%s", too)
	}
}

// counted skips a rule that judges by effects if none is seen.
func (t *trial) counted() {
	t.needs(t.subject.Effects != nil, "a count of the effects")
	if len(t.honest.effects) == 0 {
		t.skip("needs a tool with an effect: none was counted in an honest call")
	}
}

// complete plays an honest call, and returns its last request.
func (t *trial) complete(c *wire.Client) wire.Request {
	r := t.reach(c, t.last())
	s := t.send(c, r)
	if !s.complete() {
		t.failAt(s, "an honest call ended otherwise than before: %s", s.outline())
	}
	t.learn(t.last(), s)
	return r
}

func (t *trial) twoRounds() {
	if len(t.honest.exchanges) < 3 {
		t.skip("needs a call that asks twice")
	}
}

func swapped(t *trial) {
	t.twoRounds()
	t.needsState()
	for _, i := range t.rounds()[1:] {
		if t.keysMeet(i-1, i) {
			continue
		}
		earlier := t.reach(t.client(), i-1)
		later := t.reach(t.client(), i)
		for _, r := range []wire.Request{
			{Name: later.Name, Arguments: later.Arguments, State: earlier.State, Responses: later.Responses},
			{Name: later.Name, Arguments: later.Arguments, State: later.State, Responses: earlier.Responses},
		} {
			s := t.send(t.client(), r)
			s.altered = "the state of another round"
			t.answered(s)
			if s.complete() {
				t.failAt(s, "the call completes")
			}
		}
	}
}

// keysMeet says that two rounds ask under the same key.
func (t *trial) keysMeet(i, j int) bool {
	for _, a := range t.asked(i) {
		for _, b := range t.asked(j) {
			if a.Key == b.Key {
				return true
			}
		}
	}
	return false
}

func askedAhead(t *trial) {
	if !t.stateless() { // else a server cannot know what it has asked
		t.answeredUnasked()
	}
	t.twoRounds()
	tried := false
	for _, i := range t.rounds()[:len(t.rounds())-1] {
		if t.keysMeet(i, i+1) {
			continue
		}
		tried = true
		for _, ahead := range []func(int, wire.Request) wire.Request{t.besides, t.within} {
			s := t.exchange(t.client(), ahead(i, t.reach(t.client(), i)))
			if s.complete() || i+1 < t.last() && t.same(s, t.honest.exchanges[i+1]) {
				t.failAt(s, "the answer was taken before its question was asked")
			}
		}
	}
	if !tried {
		t.skip("needs two rounds that ask under different keys")
	}
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
	for i := round + 1; i <= t.last(); i++ {
		for _, q := range t.asked(i) {
			answer, _ := t.honestly(q).(map[string]any)
			content, _ := answer["content"].(map[string]any)
			maps.Copy(later, content)
		}
	}
	for _, q := range t.asked(round) {
		answer, _ := t.honestly(q).(map[string]any)
		content, ok := answer["content"].(map[string]any)
		if both := maps.Clone(later); ok && isForm(q) {
			maps.Copy(both, content)
			r = t.respond(r, q, accepting(both))
		}
	}
	return r
}

// answeredUnasked begins a call with all of its answers.
func (t *trial) answeredUnasked() {
	r := t.request(t.scenario.Arguments)
	for _, q := range t.honest.questions() {
		r = withResponse(r, q.Key, t.honestly(q))
	}
	before := t.andAbove(t.count())
	s := t.exchange(t.client(), r)
	if effect := t.charged(before); effect != "" {
		t.failAt(s, "%q happened by answers to nothing that was asked", effect)
	}
}

func endless(t *trial) {
	played := t.playWith(t.client(), t.scenario.Arguments, func(wire.Question) any { return nil })
	t.answered(played.end())
	if played.end().asks() && t.stateless() {
		t.endAt(Note, played.end(), "it asks for ever, and has no state to count by")
	}
	if played.end().asks() {
		t.failAt(played.end(), "it still asks after %d requests without an answer", len(played.exchanges))
	}
}

func finalAgain(t *trial) {
	t.counted()
	before := t.count()
	r := t.complete(t.client())
	s := t.exchange(t.client(), r)
	t.repeated(before, s)
}

func changedAnswers(t *trial) {
	t.counted()
	before := t.count()
	r := t.complete(t.client())
	changed := r
	for _, q := range t.asked(t.last()) {
		if other := t.otherwise(q); other != nil {
			changed = t.respond(changed, q, other)
		}
	}
	// To another yes or no nothing may happen, whatever is remembered of the first.
	for _, r := range []wire.Request{changed, withResponse(r, "nobody_asked", accepting(map[string]any{"a": "b"}))} {
		s := t.exchange(t.client(), r)
		t.repeated(before, s)
	}
}

// otherwise answers a question differently: as the scenario says, or with another
// value that fits its form. It is nil if there is none.
func (t *trial) otherwise(q wire.Question) any {
	if t.scenario.OtherAnswers != nil {
		return t.answer(q, t.scenario.OtherAnswers)
	}
	honest, _ := t.honestly(q).(map[string]any)
	given, _ := honest["content"].(map[string]any)
	for _, consents := range []bool{false, true} {
		if content, err := otherContent(q, given, consents); err == nil && content != nil {
			return accepting(content)
		}
	}
	return nil
}

// otherContent changes each value of a form's content that can be another: of the properties that
// ask for consent, or of those that do not. It is nil if there are none.
func otherContent(q wire.Question, given map[string]any, consents bool) (map[string]any, error) {
	schema, err := readSchema(q.Schema)
	if err != nil {
		return nil, err
	}
	return differing(schema, given, given, func(name string) []any {
		if _, no := consent(name, schema.Properties[name]); (no != nil) != consents {
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

func otherValues(value any, schema *jsonschema.Schema) []any {
	var others []any
	if schema != nil {
		others = slices.Concat(schema.Enum, titled(schema))
	}
	switch v := value.(type) {
	case bool:
		others = append(others, !v)
	case string:
		others = append(others, v+"x")
	case float64:
		others = append(others, v+1, v-1)
	case int:
		others = append(others, v+1, v-1)
	}
	return others
}

func atOnce(t *trial) {
	t.counted()
	before := t.count()
	r := t.reach(t.client(), t.last())
	all := make([]exchange, 6)
	done := make(chan int, len(all))
	c := t.client()
	for i := range all {
		go func() {
			all[i] = t.send(c, r)
			done <- i
		}()
	}
	for range all {
		<-done
	}
	for _, s := range all {
		t.answered(s)
	}
	if !slices.ContainsFunc(all, func(s exchange) bool { return t.same(s, t.honest.end()) }) {
		t.failAt(all[0], "none of them completes: %s", all[1].outline())
	}
	t.repeated(before, all[1])
}

func lostResponse(t *trial) {
	before := t.count()
	c := t.another(t.subject.Dial)
	r := t.reach(c, t.last())
	t.loseResponse(c, r)
	s := t.exchange(t.another(t.subject.Dial), r)
	switch {
	case t.same(s, t.honest.end()), t.rejected(s):
	case s.asks() && t.same(s, t.honest.exchanges[t.last()-1]):
	default:
		t.failAt(s, "sent again, the round ends otherwise: %s", s.outline())
	}
	if t.subject.Effects != nil {
		t.repeated(before, s)
	}
}

// loseResponse sends a request, and hangs up when its effect shows or it was
// answered.
func (t *trial) loseResponse(c *wire.Client, r wire.Request) {
	defer t.leave(c)
	ctx, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	before := t.count()
	answered, err := t.start(ctx, c, r)
	if err != nil {
		return
	}
	for {
		select {
		case <-answered:
			return
		case <-time.After(5 * time.Millisecond):
			if t.subject.Effects != nil && len(t.since(before)) > 0 {
				return
			}
		}
	}
}

func elsewhere(t *trial) {
	t.counted()
	t.needs(t.subject.Fresh != nil, "another instance with the same secrets")
	before := t.count()
	r := t.complete(t.client())
	s := t.exchange(t.another(t.subject.Fresh), r)
	t.repeated(before, s)
}

func oldRound(t *trial) {
	t.counted()
	t.twoRounds()
	before := t.count()
	c := t.client()
	first := t.reach(c, 1)
	s := t.finish(c, t.send(c, first))
	if !t.same(s, t.honest.end()) {
		t.failAt(s, "an honest call ended otherwise than before: %s", s.outline())
	}
	again := t.exchange(c, first)
	t.finish(c, again)
	t.repeated(before, again)
}

// lease is more than the time after which a server gives up on a dead process
// that had begun a round.
const lease = time.Minute

func crash(t *trial) {
	t.counted()
	t.needs(t.subject.CrashAtEffect != nil, "a server that can be made to die behind its effect")
	t.needs(t.subject.Revive != nil, "a way to start the server again")
	before := t.count()
	c := t.another(t.subject.Dial)
	r := t.reach(c, 1)
	t.subject.CrashAtEffect(true)
	defer t.subject.CrashAtEffect(false)
	s := t.send(c, r)
	for s.asks() {
		r = t.next(s, t.honestly)
		s = t.send(c, r)
	}
	if s.reply != nil {
		t.skip("needs an effect behind an answer")
	}
	t.subject.CrashAtEffect(false)
	t.leave(c)
	if err := t.subject.Revive(t.ctx); err != nil {
		t.fail("the server does not start again: %v", err)
	}
	c = t.another(t.subject.Dial)
	s = t.sendWithin(c, r, max(t.patience, lease))
	t.answered(s)
	s = t.finish(c, s)
	t.repeated(before, s)
	if s.refused() {
		t.because("sent again, it ends so: %s", s.outline())
	}
}
