package prove_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one connection to an instance.
type session struct {
	*instance
	conn   mcp.Connection
	who    string
	legacy bool
	caps   map[string]any

	mu    sync.Mutex
	asked map[string]chan json.RawMessage
	calls sync.WaitGroup
}

func (s *session) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer s.calls.Wait()
	defer cancel()
	for {
		m, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *jsonrpc.Request:
			if m.IsCall() {
				s.calls.Go(func() { s.respond(ctx, m) })
			}
		case *jsonrpc.Response:
			s.mu.Lock()
			asked := s.asked[fmt.Sprint(m.ID.Raw())]
			s.mu.Unlock()
			if asked != nil {
				asked <- m.Result
			}
		}
	}
}

func (s *session) respond(ctx context.Context, m *jsonrpc.Request) {
	defer func() {
		if r := recover(); r != nil {
			if _, crashed := r.(gone); !crashed {
				panic(r)
			}
		}
	}()
	result, err := s.handle(ctx, m)
	if result == silent {
		return
	}
	response := &jsonrpc.Response{ID: m.ID, Error: err}
	if err == nil {
		response.Result = json.RawMessage(digest(result))
	}
	_ = s.conn.Write(ctx, response) // the client may be gone
	if s.world.is("result/one-answer") {
		_ = s.conn.Write(ctx, response)
	}
}

// silent is no result: the request is not answered.
var silent any = new(int)

type object = map[string]any

// params are those of a call, with the parts whose type a client may get wrong
// left as they came.
type params struct {
	Meta      map[string]json.RawMessage `json:"_meta"`
	Name      any                        `json:"name"`
	Arguments any                        `json:"arguments"`
	State     any                        `json:"requestState"`
	Responses any                        `json:"inputResponses"`

	ProtocolVersion string `json:"protocolVersion"`
	Capabilities    object `json:"capabilities"`
}

func (s *session) handle(ctx context.Context, m *jsonrpc.Request) (any, error) {
	var p params
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, refusal(-32602, "params do not read")
	}
	caps := s.caps
	for name, value := range p.Meta {
		if strings.HasSuffix(name, "/clientCapabilities") {
			caps = nil
			_ = json.Unmarshal(value, &caps)
		}
	}
	switch m.Method {
	case "initialize":
		s.legacy, s.caps = true, p.Capabilities
		return object{"protocolVersion": "2025-11-25", "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "bare", "version": "1"}}, nil
	case "tools/list":
		return s.list(caps), nil
	case "tools/call":
		return s.call(ctx, p, caps)
	}
	return nil, refusal(-32601, "there is no such method")
}

func (s *session) list(caps object) object {
	tool := func(name string) object {
		return object{
			"name": name, "inputSchema": object{"type": "object", "required": []string{"to"}, "additionalProperties": false, "properties": object{"to": object{"type": "string"}}},
			"outputSchema": object{"type": "object", "required": []string{"amount"}, "properties": object{"amount": object{"type": "string"}}},
		}
	}
	tools := []object{tool("pay"), tool("refund")}
	if s.world.is("client/same-list") && len(caps) == 0 {
		tools = tools[:1]
	}
	return s.typed(object{"tools": tools}, "complete")
}

// typed adds the resultType, which legacy revisions do not have.
func (s *session) typed(result object, kind string) object {
	if !s.legacy {
		result["resultType"] = kind
	}
	return result
}

func (s *session) done(amount, to, when string) any {
	structured := object{"amount": amount}
	if s.world.is("result/output") {
		structured = object{"amount": 7}
	}
	kind := "complete"
	if s.world.is("result/schema") {
		kind = "done"
	}
	return s.typed(object{"content": []object{{"type": "text", "text": "Paid " + amount + " to " + to + " " + when + "."}}, "structuredContent": structured}, kind)
}

func (s *session) text(text string, failed bool) any {
	return s.typed(object{"content": []object{{"type": "text", "text": text}}, "isError": failed}, "complete")
}

func (s *session) form(key string) object {
	property := object{"type": "string", "enum": choices[key]}
	properties := object{key: property}
	if s.world.is("result/questions") {
		properties["address"] = object{"type": "object"}
	}
	return object{"mode": "form", "message": "The " + key + "?", "requestedSchema": object{"type": "object", "required": []string{key}, "properties": properties}}
}

var keys = []string{"amount", "when"}

var choices = map[string][]string{"amount": {"10", "20"}, "when": {"today", "tomorrow"}}

func (s *session) ask(state sealed) any {
	key := keys[state.Round]
	state.Until = s.world.now() + time.Minute
	return s.typed(object{"inputRequests": object{key: object{"method": "elicitation/create", "params": s.form(key)}}, "requestState": s.seal(state)}, "input_required")
}

func (w *world) now() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

// call is one round of a call.
func (s *session) call(ctx context.Context, p params, caps object) (any, error) {
	w := s.world
	name, isText := p.Name.(string)
	if !isText && w.is("result/always-answer") {
		return silent, nil
	}
	if name != "pay" && name != "refund" {
		if w.is("result/unknown-tool") && name == "no_such_tool" {
			return s.text("there is no such tool", true), nil
		}
		return nil, refusal(-32602, "there is no such tool")
	}
	to, good := s.receiver(p)
	if !good {
		return nil, refusal(-32602, "the arguments are not good")
	}
	if s.legacy {
		return s.legacyCall(ctx, to)
	}
	if w.is("server/in-time") {
		w.busy <- struct{}{}
		<-w.busy
	}
	token, isText := p.State.(string)
	if p.State != nil && !isText && !w.is("state/not-text") {
		switch w.broken {
		case "result/codes":
			return nil, refusal(-32020, "the headers disagree")
		case "result/blame":
			return nil, refusal(-32603, "it does not decode")
		}
		return nil, refusal(-32602, "requestState is no text")
	}
	if p.State != nil && !isText {
		token = w.last()
	}
	responses, isMap := p.Responses.(object)
	if p.Responses != nil && !isMap && !w.is("answer/no-map") {
		return nil, refusal(-32602, "inputResponses is no object")
	}
	if !isMap && p.Responses != nil { // taken for the first choice of each question
		responses = object{"amount": accept("amount", choices["amount"][0]), "when": accept("when", choices["when"][0])}
	}
	if token == "" {
		if len(responses) > 0 && w.is("state/left-out") && responses["when"] != nil {
			return s.done("", to, "today"), nil
		}
		return s.begin(name, to, caps)
	}
	state, err := s.open(token)
	if err != nil || s.misplaced(state, name, to) {
		return nil, s.refuse(token)
	}
	return s.goOn(state, token, to, responses, caps)
}

// receiver reads the arguments: to, a text, and nothing else.
func (s *session) receiver(p params) (to string, good bool) {
	w := s.world
	arguments, isObject := p.Arguments.(object)
	given, isGiven := arguments["to"]
	to, isText := given.(string)
	token, _ := p.State.(string)
	switch {
	case w.is("input/later-round") && token != "" && to == "":
		state, err := s.open(token)
		return state.To, err == nil && isObject
	case !isObject:
		return "nobody", p.Arguments != nil && w.is("input/not-an-object")
	case !isGiven && w.is("input/missing") && token == "", isGiven && !isText && w.is("input/wrong-type") && token == "":
		return "nobody", true
	case len(arguments) > 1 && !w.is("input/unknown"):
		return "", false
	}
	return to, to != ""
}

func accept(key, value string) object {
	return object{"action": "accept", "content": object{key: value}}
}

func (w *world) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest
}

func (s *session) begin(name, to string, caps object) (any, error) {
	if err := s.gate(caps, 0); err != nil {
		return nil, err
	}
	s.instance.mu.Lock()
	s.to = to
	s.instance.mu.Unlock()
	state := sealed{Call: s.world.next(), Tool: name, To: to, Who: s.who}
	s.perInstance(state)
	return s.ask(state), nil
}

// gate refuses a client that did not declare forms.
func (s *session) gate(caps object, round int) error {
	elicitation, declared := caps["elicitation"].(object)
	_, form := elicitation["form"]
	if declared && (form || len(elicitation) == 0) {
		return nil
	}
	switch w := s.world; {
	case w.is("client/capability-missing") && !declared && round == 0,
		w.is("client/other-mode") && declared,
		w.is("client/dropped") && round > 0:
		return nil
	case w.is("client/capability-named"):
		return refusal(-32021, "elicitation is needed")
	}
	return &jsonrpc.Error{Code: -32021, Message: "elicitation is needed", Data: json.RawMessage(`{"requiredCapabilities":{"elicitation":{"form":{}}}}`)}
}

func (s *session) refuse(token string) error {
	w := s.world
	switch w.broken {
	case "effect/refused":
		s.effect("refused")
	case "state/one-refusal":
		return refusal(-32602, fmt.Sprintf("a state of %d characters is not good", len(token)))
	case "state/refusal-harmless":
		w.mu.Lock()
		w.burnt = true
		w.mu.Unlock()
	}
	return refusal(-32602, "the state is not good")
}

// misplaced says that the state belongs to another request.
func (s *session) misplaced(state sealed, name, to string) bool {
	w := s.world
	return state.Tool != name && !w.is("state/other-tool") ||
		state.To != to && !w.is("state/other-arguments") ||
		state.Who != s.who && !w.is("state/other-principal") ||
		state.Until < w.now() && !w.is("state/expired")
}

// goOn takes the answer of a round.
func (s *session) goOn(state sealed, token, to string, responses, caps object) (any, error) {
	w := s.world
	s.perInstance(state)
	if w.is("server/alive") {
		if poison, ok := responses["amount"].(object); ok && poison["of"] != nil {
			s.instance.mu.Lock()
			s.poison[s.conn] = true
			s.instance.mu.Unlock()
		}
	}
	key := keys[state.Round]
	if w.is("answer/extra-keys") && len(responses) > 0 && responses["nobody_asked"] != nil {
		return nil, refusal(-32602, "nobody asked that")
	}
	if proto, ok := responses["__proto__"].(object); ok && w.is("answer/prototype-keys") {
		responses = proto
	}
	value, verdict := s.judge(key, responses)
	if state.Round == 0 && w.is("round/swapped") && verdict == askAgain && responses["when"] != nil {
		return s.done("10", to, "today"), nil
	}
	switch verdict {
	case stopped:
		if w.is("effect/declined") {
			s.effect("told")
		}
		return s.text("Nothing was paid.", false), nil
	case askAgain:
		if state.Tries++; state.Tries > 4 && !w.is("round/endless") {
			return s.text("There was no answer.", true), nil
		}
		if w.is("answer/missing") {
			return nil, refusal(-32602, "the answer is missing")
		}
		if w.is("effect/asked-again") && state.Round == 1 {
			s.effect("pay")
		}
		if err := s.gate(caps, state.Round+1); err != nil {
			return nil, err
		}
		return s.ask(state), nil
	}
	if state.Round == 0 {
		if err := s.gate(caps, 1); err != nil {
			return nil, err
		}
		state.Round, state.Tries, state.Amount = 1, 0, value
		s.instance.mu.Lock()
		s.sums[state.Call] = value
		s.instance.mu.Unlock()
		if value, verdict = s.judge("when", responses); !w.is("round/asked-ahead") || verdict != accepted {
			return s.ask(state), nil
		}
	}
	return s.pay(state, token, to, value, responses)
}

// perInstance has the effect unless this instance had it, where that is broken.
func (s *session) perInstance(state sealed) {
	if !s.world.is("effect/instances") {
		return
	}
	s.instance.mu.Lock()
	paid := s.paid[state.Call]
	s.paid[state.Call] = true
	s.instance.mu.Unlock()
	if !paid {
		s.effect("pay")
	}
}

// pay has the effect once for each call, and remembers how it ended.
func (s *session) pay(state sealed, token, to, when string, responses object) (any, error) {
	w := s.world
	amount := state.Amount
	s.instance.mu.Lock()
	latest, poisoned := s.to, s.poison[s.conn]
	sum := s.sums[state.Call]
	s.instance.mu.Unlock()
	if w.is("server/apart") && latest != "" {
		to = latest
	}
	if w.is("state/another-instance") {
		amount = sum
	}
	if poisoned {
		return nil, refusal(-32603, "busy")
	}
	mine := &payment{state: token, answers: digest(responses), by: s.instance, conn: s.conn, done: make(chan struct{})}
	w.mu.Lock()
	before := w.ledger[state.Call]
	if before == nil {
		w.ledger[state.Call] = mine
	}
	delete(w.waiting, state.Call)
	w.mu.Unlock()
	if before != nil && !s.paysAgain(before, mine) {
		select {
		case <-before.done:
		default:
			w.mu.Lock()
			dead := before.by != w.main && w.main != nil && before.by.secret == "a" && before.by == s.instance
			w.mu.Unlock()
			if !dead && before.by == s.instance {
				<-before.done
			}
		}
		switch {
		case before.answers != mine.answers:
			return nil, refusal(-32602, "it was answered otherwise")
		case before.result == nil:
			return s.text("It is not known whether it was paid.", true), nil
		}
		return before.result, nil
	}
	if !w.is("effect/instances") {
		s.effect("pay")
	}
	if w.is("effect/once") {
		s.effect("pay")
	}
	time.Sleep(10 * time.Millisecond) // so that a second request finds the first one running
	mine.result = s.done(amount, to, when)
	close(mine.done)
	return mine.result, nil
}

// paysAgain says that a second request has its effect, where that is broken.
func (s *session) paysAgain(before, mine *payment) bool {
	running := true
	select {
	case <-before.done:
		running = false
	default:
	}
	same := before.state == mine.state && before.answers == mine.answers
	switch s.world.broken {
	case "round/final-again":
		return same && !running && before.conn == mine.conn
	case "round/changed-answers":
		return before.state == mine.state && !same
	case "round/at-once":
		return same && running && before.conn == mine.conn
	case "round/lost-response":
		return same && before.conn != mine.conn && before.by == mine.by
	case "round/elsewhere":
		return same && !running && before.by != mine.by
	case "round/old-round":
		return before.state != mine.state
	case "round/crash":
		return running && before.by != mine.by
	}
	return false
}

type judged int

const (
	askAgain judged = iota
	accepted
	stopped
)

// judge reads the answer to a question.
func (s *session) judge(key string, responses object) (string, judged) {
	w := s.world
	fallback := choices[key][0]
	response, given := responses[key]
	answer, isObject := response.(object)
	_, role := answer["role"]
	_, roots := answer["roots"]
	switch {
	case given && response == nil && w.is("answer/null"),
		given && response != nil && !isObject && w.is("answer/not-an-object"),
		(role || roots) && w.is("answer/wrong-kind"):
		return fallback, accepted
	case !isObject:
		return "", askAgain
	}
	content, _ := answer["content"].(object)
	switch action := answer["action"]; {
	case action == "decline" && (s.legacy || !w.is("answer/declined")), action == "cancel" && !w.is("answer/cancelled"):
		return "", stopped
	case action == "decline", action == "cancel":
		return fallback, accepted
	case action != "accept" && !(w.is("answer/bad-action") && len(content) > 0):
		return "", askAgain
	case len(content) == 0 && w.is("answer/without-content"):
		return fallback, accepted
	}
	value := content[key]
	if w.is("answer/against-schema") && value != nil {
		return fmt.Sprint(value), accepted
	}
	text, _ := value.(string)
	if !slices.Contains(choices[key], text) {
		return "", askAgain
	}
	return text, accepted
}

// legacyCall asks over the connection.
func (s *session) legacyCall(ctx context.Context, to string) (any, error) {
	w := s.world
	_, declared := s.caps["elicitation"].(object)
	switch {
	case w.is("client/legacy-leak"):
		return object{"content": []object{}, "inputRequests": object{"amount": object{"method": "elicitation/create", "params": s.form("amount")}}, "requestState": "x"}, nil
	case w.is("client/legacy-full") && declared:
		return object{"content": []object{}}, nil
	case !declared && !w.is("client/legacy-silent"):
		return s.text("This client cannot be asked.", true), nil
	}
	if w.is("server/in-time") {
		w.busy <- struct{}{}
		defer func() { <-w.busy }()
	}
	values := map[string]string{}
	for _, key := range keys {
		response, err := s.askOver(ctx, key)
		if err != nil {
			return nil, refusal(-32603, "nobody answered")
		}
		value, verdict := s.judge(key, object{key: response})
		if verdict == stopped && w.is("client/legacy-declined") {
			value, verdict = choices[key][0], accepted
		}
		if verdict != accepted {
			return s.text("Nothing was paid.", true), nil
		}
		values[key] = value
	}
	s.effect("pay")
	return s.done(values["amount"], to, values["when"]), nil
}

func (s *session) askOver(ctx context.Context, key string) (any, error) {
	id, err := jsonrpc.MakeID(s.world.next())
	if err != nil {
		return nil, err
	}
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	s.asked[fmt.Sprint(id.Raw())] = answer
	s.mu.Unlock()
	ask := maps.Clone(s.form(key))
	if err := s.conn.Write(ctx, &jsonrpc.Request{ID: id, Method: "elicitation/create", Params: json.RawMessage(digest(ask))}); err != nil {
		return nil, err
	}
	select {
	case raw := <-answer:
		if len(raw) == 0 {
			return nil, errors.New("the client answered with an error")
		}
		var response any
		err := json.Unmarshal(raw, &response)
		return response, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
