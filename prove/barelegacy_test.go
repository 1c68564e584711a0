package prove_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

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
