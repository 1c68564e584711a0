package prove

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

var clientRules = []Rule{
	{"client/capability-missing", "A client that declares nothing is asked nothing: the call completes without, or ends in the error for a missing capability.", Must, declared, capabilityMissing},
	{"client/capability-named", "The error for a missing capability names it.", Must, naming, capabilityNamed},
	{"client/other-mode", "A client that declares one kind of question is not asked another.", Must, declared, otherMode},
	{"client/dropped", "A client that stops declaring a capability in a later round is no longer asked.", Must, stateless, dropped},
	{"client/same-list", "The list of tools does not depend on the client's capabilities.", Ours, "a list that depends on them cannot be cached for every client", sameList},
	{"client/legacy-leak", "A legacy client gets no result that only a modern one understands.", Must, revisions, legacyLeak},
	{"client/legacy-silent", "A legacy client that declares nothing is asked nothing.", Must, negotiated, legacySilent},
	{"client/legacy-full", "A legacy client that can be asked gets the tool as a modern one does, or is told that it cannot.", Ours, "a result that says nothing looks like a success", legacyFull},
	{"client/legacy-declined", "A legacy client that declines ends the call, and not as if it accepted.", Should, actions, legacyDeclined},
}

func capabilityMissing(t *trial) {
	s := t.undeclared(wire.Nothing)
	switch {
	case s.asks():
		t.failAt(s, "it asks a client that declared nothing")
	case s.complete():
		t.because("it completes without asking")
	case !s.protocol():
		t.failAt(s, "an error result hides from the client that it lacks a capability")
	case !s.failsWith(missingCapability):
		t.failAt(s, "the error is not %d, by which the client learns what to declare", missingCapability)
	}
}

const missingCapability = -32021

// undeclared is the reply to a client that declares these capabilities alone, in
// the first round.
func (t *trial) undeclared(capabilities wire.Capabilities) exchange {
	c := t.dial(t.subject.Dial, t.subject.First, &wire.Options{Capabilities: capabilities})
	s := t.exchange(c, t.request(t.scenario.Arguments))
	return s
}

func capabilityNamed(t *trial) {
	s := t.undeclared(wire.Nothing)
	if !s.failsWith(missingCapability) {
		t.skip("needs a server that answers with %d", missingCapability)
	}
	var data struct {
		Required map[string]any `json:"requiredCapabilities"`
	}
	if err := json.Unmarshal(s.reply.Error.Data, &data); err != nil || len(data.Required) == 0 {
		t.failAt(s, "its data names no requiredCapabilities: %s", s.reply.Error.Data)
	}
	for name := range data.Required {
		if !slices.Contains([]string{"elicitation", "sampling", "roots"}, name) {
			t.failAt(s, "it requires %q, which is no capability of a client", name)
		}
	}
}

func otherMode(t *trial) {
	for _, q := range t.honest.questions() {
		capabilities := wire.FormOnly
		if isForm(q) {
			capabilities = wire.URLOnly
		}
		kind := func(other wire.Question) bool { return other.Method == q.Method && isForm(other) == isForm(q) }
		c := t.dial(t.subject.Dial, t.subject.First, &wire.Options{Capabilities: capabilities})
		for _, s := range t.play(c, t.scenario.Arguments, t.scenario.Answers).exchanges {
			t.answered(s)
			if s.asks() && slices.ContainsFunc(s.reply.Asks, kind) {
				t.failAt(s, "a client that declared %s alone is asked with %s, mode %q", capabilities, q.Method, q.Mode)
			}
		}
	}
}

func dropped(t *trial) {
	c := t.client()
	r := t.reach(c, 1)
	unanswered := r
	unanswered.Responses = nil
	meta := maps.Clone(c.Meta())
	for name := range meta {
		if strings.HasSuffix(name, "/clientCapabilities") {
			meta[name] = map[string]any{}
		}
	}
	// One request leads to the next question, and one to the same again.
	for _, r := range []wire.Request{r, unanswered} {
		s := t.exchange(c, withParam(c, r, "_meta", meta))
		if s.asks() {
			t.failAt(s, "it asks a client that declares nothing any more")
		}
	}
}

func sameList(t *trial) {
	names := func(capabilities wire.Capabilities) string {
		c := t.dial(t.subject.Dial, t.subject.First, &wire.Options{Capabilities: capabilities})
		var all []string
		for _, tool := range t.tools(c) {
			all = append(all, tool.Name)
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	if with, without := names(wire.Everything), names(wire.Nothing); with != without {
		t.fail("a client that declares everything is listed %s; one that declares nothing %s", with, without)
	}
}

// legacyClient skips the rule if the server speaks no legacy revision.
func (t *trial) legacyClient(capabilities wire.Capabilities, answer wire.Answer) *wire.Client {
	c, err := t.tryDial(t.subject.Dial, t.subject.First, asLegacy(capabilities, answer))
	if err != nil {
		t.skip("needs a server that speaks a legacy revision: %v", err)
	}
	return c
}

func asLegacy(capabilities wire.Capabilities, answer wire.Answer) *wire.Options {
	return &wire.Options{Version: wire.Legacy, Capabilities: capabilities, Answers: wire.Answers{"*": answer}}
}

// legacy makes the call as a legacy client, and returns the questions it was asked as well.
func (t *trial) legacy(capabilities wire.Capabilities, answer wire.Answer) (exchange, []wire.Question) {
	c := t.legacyClient(capabilities, answer)
	s := t.exchange(c, t.request(t.scenario.Arguments))
	return s, c.Asked()
}

// legacyAnswer is the answer of a legacy client, whose questions have no key: it
// is found by the message.
func (t *trial) legacyAnswer(q wire.Question) any {
	for _, known := range t.honest.questions() {
		if known.Message == q.Message && canonical(known.Schema) == canonical(q.Schema) {
			q.Key = known.Key
		}
	}
	return t.honestly(q)
}

const legacyForms wire.Capabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

func legacyLeak(t *trial) {
	for _, capabilities := range []wire.Capabilities{legacyForms, wire.Nothing} {
		s, _ := t.legacy(capabilities, t.legacyAnswer)
		if s.asks() || s.reply.State != "" {
			t.failAt(s, "the result carries inputRequests or requestState, which look like an empty success in that revision")
		}
	}
}

func legacySilent(t *trial) {
	if _, asked := t.legacy(wire.Nothing, t.legacyAnswer); len(asked) > 0 {
		t.fail("it is asked by %s: %q", asked[0].Method, asked[0].Message)
	}
}

func legacyFull(t *trial) {
	s, _ := t.legacy(legacyForms, t.legacyAnswer)
	switch {
	case s.asks():
		t.skip("needs a server that keeps to the revision: see client/legacy-leak")
	case t.same(s, t.honest.end()):
	case s.refused():
		t.endAt(Note, s, "it is refused")
	case s.reply.Text == "" && len(s.reply.Structured) == 0:
		t.failAt(s, "the result is empty, and no error")
	default:
		t.endAt(Note, s, "it gets another result")
	}
}

func legacyDeclined(t *trial) {
	decline := func(q wire.Question) any {
		if q.Method == "elicitation/create" {
			return map[string]any{"action": "decline"}
		}
		return t.honestly(q)
	}
	before := t.count()
	s, asked := t.legacy(legacyForms, decline)
	switch effect := t.charged(t.andAbove(before)); {
	case len(asked) > 0 && effect != "":
		t.failAt(s, "%q happened", effect)
	case len(asked) == 0:
		t.skip("needs a legacy client that is asked")
	case s.asks():
		t.skip("needs a server that keeps to the revision: see client/legacy-leak")
	case s.complete() && t.surely(s, t.honest.end()):
		t.failAt(s, "the call completes as if it was accepted")
	}
}
