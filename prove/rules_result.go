package prove

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

const (
	sdkOwns    = "This is the server library's part: take a version that keeps it."
	wellFormed = "result/schema"
)

var resultRules = []Rule{
	{wellFormed, "Results and questions fit the revision's schema, and forms are flat.", Must, defined, "Ask for texts, numbers, truth values and choices, side by side. The rest is the server library's part.", nil, resultSchema},
	{"result/output", "The structured content fits the tool's output schema.", Must, conforming, "Make the output and its schema of one type.", nil, output},
	{"result/codes", "No error has a code that is reserved for something else.", Must, coded, sdkOwns, nil, codes},
	{"result/unknown-tool", "An unknown tool is a protocol error.", Should, unknown, sdkOwns, nil, unknownTool},
	{"result/answers", "Every request is answered once, however malformed.", Must, jsonRPC, sdkOwns, nil, answersEach},
}

// judge says how a call ended, or the first fault of its result, against the output
// schema if there is one.
func (t *trial) judge(s exchange, output *jsonschema.Resolved) (outcome judge.Outcome, err error) {
	defer guarded(&err)
	res := &jsonrpc.Response{Result: s.reply.Result}
	if s.protocol() {
		res.Error = s.reply.Error
	}
	return judge.Answer(t.era, res, output)
}

func resultSchema(t *trial) {
	replies := slices.Clone(t.honest.exchanges)
	r := t.reach(t.client(), 1)
	for _, q := range t.asked(1) {
		replies = append(replies, t.send(t.client(), t.respond(r, q, map[string]any{"action": "decline"})))
	}
	for _, s := range replies {
		if s.reply == nil || s.protocol() {
			continue
		}
		t.wellAsked(s)
		if _, err := t.judge(s, nil); err != nil {
			t.failAt(s, "%v", err)
		}
		if _, err := specified().Result(s.reply.Result); err != nil {
			t.failAt(s, "the specification's schema: %v", err)
		}
	}
}

// specified are the definitions of a tool's answers.
var specified = sync.OnceValue(func() *judge.Specification {
	s, err := judge.SpecificationOf("tools/call", judge.Modern)
	if err != nil {
		panic(err) // the definitions are ours
	}
	return s
})

// wellAsked fails at a question that the revision does not describe.
func (t *trial) wellAsked(s exchange) {
	for _, q := range s.reply.Asks {
		if q.Method == "elicitation/create" && q.Message == "" {
			t.failAt(s, "the question %q: it has no message", q.Key)
		}
		question := map[string]any{"method": q.Method}
		if len(q.Params) > 0 {
			question["params"] = q.Params
		}
		if err := specified().Question(json.RawMessage(marshal(question))); err != nil {
			t.failAt(s, "the question %q, by the specification's schema: %v", q.Key, err)
		}
	}
}

func output(t *trial) {
	if t.tool.outputErr != nil {
		t.skip("needs an output schema that can be judged by: %v", t.tool.outputErr)
	}
	if t.tool.output == nil {
		t.skip("needs a tool with an output schema")
	}
	end := t.honest.end()
	if _, err := t.judge(end, nil); err != nil {
		t.skip("needs a well-formed result: %v", err)
	}
	if _, err := t.judge(end, t.tool.output); err != nil {
		t.failAt(end, "%v", err)
	}
}

// malformed are requests that no server can serve as they are.
func (t *trial) malformed(c *wire.Client) []wire.Request {
	r := t.reach(c, 1)
	bad := []wire.Request{
		withParam(c, r, "requestState", 7),
		withParam(c, r, "requestState", []any{}),
		withParam(c, r, "inputResponses", 7),
		withParam(c, r, "inputResponses", []any{}),
		withParam(c, r, "arguments", 7),
		withParam(c, r, "arguments", []any{1}),
		withParam(c, r, "name", 7),
		withParam(c, r, "name", ""),
	}
	for _, q := range t.asked(1) {
		key := t.here(q).Key
		bad = append(bad, withResponse(r, key, map[string]any{"of": "no known kind"}), withResponse(r, key, 7))
	}
	for _, m := range garbage() {
		altered := r
		altered.State = m.state
		bad = append(bad, altered)
	}
	return bad
}

func codes(t *trial) {
	c := t.client()
	for _, r := range t.malformed(c) {
		s := t.send(c, r)
		if !s.protocol() {
			continue
		}
		code := s.reply.Error.Code
		switch {
		case nameless(r): // headers and params cannot agree on such a name
		case code == -32020:
			t.failAt(s, "it says that the headers disagree with the request, and they do not")
		case code == -32002 || code == -32042:
			t.failAt(s, "%d is not sent in this revision", code)
		case code <= -32022 && code >= -32099:
			t.failAt(s, "%d is reserved and means nothing", code)
		case code == 0:
			t.failAt(s, "an error has no code")
		}
	}
}

// nameless says that a request has no name that a header could repeat.
func nameless(r wire.Request) bool {
	params, ok := r.Params.(map[string]any)
	name, isText := params["name"].(string)
	return ok && (!isText || name == "")
}

func unknownTool(t *trial) {
	s := t.exchange(t.client(), wire.Request{Name: "no_such_tool", Arguments: map[string]any{}})
	if _, err := t.judge(s, nil); err != nil {
		t.failAt(s, "%v", err)
	}
	if !s.protocol() {
		t.failAt(s, "it is no protocol error")
	}
}

func answersEach(t *trial) {
	c := t.client()
	since := t.counting()
	malformed := t.malformed(c)
	for _, r := range malformed {
		t.exchange(c, r)
	}
	t.onlyAllowed(since(), t.atTheStart(1), exchange{}, "behind malformed requests")
	s := t.exchange(c, wire.Request{Method: "no/such-method", Params: map[string]any{"_meta": c.Meta()}})
	if !s.protocol() {
		t.failAt(s, "a method that does not exist is no protocol error")
	}
	t.finish(c, t.send(c, t.request(t.scenario.Arguments)))
	if t.listPage(c, ""); t.surplus(c) > 0 {
		t.fail("a response came that no request was waiting for")
	}
}
