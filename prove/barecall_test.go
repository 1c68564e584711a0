package prove_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

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
	case w.is("effect/unasked") && round == 0:
		s.effect("pay")
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
