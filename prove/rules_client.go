package prove

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

const gateIt = "Compare the capabilities of this very request with each question before it is asked, and answer -32021 with the missing ones."

var clientRules = []Rule{
	{"client/undeclared", "A client is asked only what it declared. Otherwise the call goes without, or names the missing capability.", Must, declared, gateIt, nil, undeclared},
	{"client/dropped", "A client that stops declaring a capability is no longer asked.", Must, stateless, gateIt, nil, dropped},
	{"client/legacy", "A legacy client gets no modern result, and no question it did not declare.", Must, revisions, "Ask a legacy client over its connection, or refuse it.", nil, legacyServed},
	{"input/refused", "Arguments that break the schema are an error, in each round.", Must, validated, "Validate the arguments against the tool's inputSchema in each round, since a client can change them.", nil, badArguments},
}

func undeclared(t *trial) {
	for _, capabilities := range []wire.Capabilities{wire.Nothing, wire.Omitted} {
		s := t.asClient(capabilities)
		switch {
		case s.asks():
			t.failAt(s, "it asks a client that declared nothing")
		case s.complete():
			t.because("it completes without asking")
		case capabilities == wire.Omitted:
		case !s.protocol():
			t.failAt(s, "an error result hides from the client that it lacks a capability")
		case !s.failsWith(missingCapability):
			t.failAt(s, "the error is not %d, by which the client learns what to declare", missingCapability)
		default:
			t.namesCapability(s)
		}
	}
	t.asksWithin()
}

const missingCapability = -32021

// asClient is the reply to the first request of a client that declares these capabilities alone.
func (t *trial) asClient(capabilities wire.Capabilities) exchange {
	c := t.dial(t.subject.Dial, t.subject.First, &wire.Options{Capabilities: capabilities})
	return t.exchange(c, t.request(t.scenario.Arguments))
}

// namesCapability fails unless the error says what is missing.
func (t *trial) namesCapability(s exchange) {
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

// asksWithin comes as a client that declares one kind of question, and fails if it is asked
// another.
func (t *trial) asksWithin() {
	for _, q := range t.honest.questions() {
		capabilities := wire.FormOnly
		if isForm(q) {
			capabilities = wire.URLOnly
		}
		kind := func(other wire.Question) bool { return other.Method == q.Method && isForm(other) == isForm(q) }
		c := t.dial(t.subject.Dial, t.subject.First, &wire.Options{Capabilities: capabilities})
		for _, s := range t.play(c, t.honestly).exchanges {
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

const legacyForms wire.Capabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

// legacyServed comes as a legacy client that can be asked, and as one that cannot.
func legacyServed(t *trial) {
	for _, capabilities := range []wire.Capabilities{legacyForms, wire.Nothing} {
		c := t.legacyClient(capabilities, t.asHonest)
		s := t.exchange(c, t.request(t.scenario.Arguments))
		asked := c.Asked()
		switch {
		case s.asks() || s.reply.State != "":
			t.failAt(s, "the result carries inputRequests or requestState, which look like an empty success in that revision")
		case capabilities == wire.Nothing && len(asked) > 0:
			t.fail("it is asked by %s: %q", asked[0].Method, asked[0].Message)
		case capabilities == legacyForms && s.complete() && s.reply.Text == "" && len(s.reply.Structured) == 0 && t.honest.end().reply.Text != "":
			t.failAt(s, "the result is empty, and no error, which looks like a success")
		}
	}
}

// badArguments sends arguments that the schema does not allow, in each round.
func badArguments(t *trial) {
	if t.tool.input == nil {
		t.skip("needs an input schema that reads: %v", t.tool.inputErr)
	}
	c := t.client()
	for i := 0; i <= t.final(); i++ {
		r := t.reach(c, i)
		since := t.counting()
		for _, w := range badInputs(t.tool.input, t.scenario.Arguments) {
			r.Arguments = w.value
			if s := t.exchange(c, r); !s.refused() {
				t.failAt(s, "the call goes on %s", w.what)
			}
		}
		if too := t.unexplained(since(), nil); too != "" {
			t.fail("%s behind arguments that were refused", too)
		}
	}
}
