package prove_test

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// goOn takes the answer of a round.
func (s *session) goOn(state sealed, token, to string, responses, caps object) (any, error) {
	w := s.world
	s.perInstance(state)
	key := keys[state.Round]
	if proto, ok := responses["__proto__"].(object); ok && w.is("answer/prototype-keys") {
		responses = proto
	}
	if w.design == freshKeys {
		responses = renamed(responses, state.Asked, key)
	}
	if w.is("server/alive") {
		if poison, ok := responses["amount"].(object); ok && poison["of"] != nil {
			s.instance.mu.Lock()
			s.poison[s.conn] = true
			s.instance.mu.Unlock()
		}
	}
	if w.is("answer/extra-keys") && len(responses) > 0 && responses["nobody_asked"] != nil {
		return nil, refusal(-32602, "nobody asked that")
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

// renamed gives the answer under the key of this round the name that the tool knows it by.
func renamed(responses object, asked, key string) object {
	own := maps.Clone(responses)
	delete(own, key)
	if answer, given := own[asked]; given {
		own[key] = answer
	}
	return own
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
	if !given && len(responses) == 1 && w.is("answer/wrong-key") {
		for _, other := range responses {
			response, given = other, true
		}
	}
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
