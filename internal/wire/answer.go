package wire

import (
	"encoding/json"
	"sync/atomic"
)

// Answer makes the response to a question: anything that encodes as JSON, and
// nil for none.
type Answer func(q Question) any

// Answers is a script: answers by the question's key, and under "*" for every
// other. A question that the script does not know gets no answer.
type Answers map[string]Answer

// Value accepts, with v under the question's own key.
func Value(v any) Answer {
	return func(q Question) any { return accept(map[string]any{q.Key: v}) }
}

// Accept accepts, with this content.
func Accept(content any) Answer {
	return func(Question) any { return accept(content) }
}

func accept(content any) any { return map[string]any{"action": "accept", "content": content} }

// Raw answers with this JSON, whatever it is.
func Raw(response string) Answer {
	return func(Question) any { return json.RawMessage(response) }
}

// Decline is a user's no.
func Decline(Question) any { return map[string]any{"action": "decline"} }

// Cancel is a user who dismissed the question.
func Cancel(Question) any { return map[string]any{"action": "cancel"} }

// Missing leaves the answer out. An old client, which cannot, answers with a
// JSON-RPC error.
func Missing(Question) any { return nil }

// InTurn gives one answer each time it is asked, and the last ever after.
func InTurn(answers ...Answer) Answer {
	var next atomic.Int64
	return func(q Question) any {
		i := min(int(next.Add(1)), len(answers)) - 1
		return answers[i](q)
	}
}

func (a Answers) answer(q Question) (json.RawMessage, error) {
	answer := a[q.Key]
	if answer == nil {
		answer = a["*"]
	}
	if answer == nil {
		return nil, nil
	}
	response := answer(q)
	if response == nil {
		return nil, nil
	}
	return json.Marshal(response)
}
