package wire

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Question is something the server asked.
type Question struct {
	// Key names the answer. A question that comes over the connection has no key
	// of its own: then it is the name of its form's property if the form has
	// only one, and the method otherwise.
	Key string
	// Method is elicitation/create, sampling/createMessage or roots/list.
	Method string
	// Message, Mode, Schema and URL are those of an elicitation.
	Message, Mode, URL string
	Schema             json.RawMessage
	// Params is the question whole.
	Params json.RawMessage

	numbered string // the key that it has in its task, "" outside of one
}

// Properties are the names of the form's properties, sorted.
func (q Question) Properties() []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(q.Schema, &schema)
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func newQuestion(key, method string, params json.RawMessage) Question {
	var p struct {
		Message         string          `json:"message"`
		Mode            string          `json:"mode"`
		URL             string          `json:"url"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}
	_ = json.Unmarshal(params, &p) // the other methods have none of these
	return Question{Key: key, Method: method, Message: p.Message, Mode: p.Mode, URL: p.URL, Schema: p.RequestedSchema, Params: params}
}

func askedOver(m *jsonrpc.Request) Question {
	q := newQuestion(m.Method, m.Method, m.Params)
	if names := q.Properties(); len(names) == 1 {
		q.Key = names[0]
	}
	return q
}

// questionsOf reads the inputRequests of a result, ordered by key.
func questionsOf(requests map[string]inputRequest) []Question {
	questions := make([]Question, 0, len(requests))
	for key, r := range requests {
		questions = append(questions, newQuestion(key, r.Method, r.Params))
	}
	slices.SortFunc(questions, func(a, b Question) int { return strings.Compare(a.Key, b.Key) })
	return questions
}

type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Answer makes the response to a question: anything that encodes as JSON, nil
// for none, or a *[jsonrpc.Error]. A modern client has no way to send an error
// and leaves the answer out.
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

// Decline is a user who declines.
func Decline(Question) any { return map[string]any{"action": "decline"} }

// Cancel is a user who dismissed the question.
func Cancel(Question) any { return map[string]any{"action": "cancel"} }

// Missing leaves the answer out. A legacy client, which cannot do that, answers
// with a JSON-RPC error.
func Missing(Question) any { return nil }

// Silent never answers: a question over the connection stays open.
func Silent(Question) any { return silence{} }

type silence struct{}

var errSilence = errors.New("wire: the question stays open")

// Fail answers with a JSON-RPC error.
func Fail(code int64, message string) Answer {
	return func(Question) any { return &jsonrpc.Error{Code: code, Message: message} }
}

// InTurn gives one answer each time it is asked, and the last ever after.
func InTurn(answers ...Answer) Answer {
	var next atomic.Int64
	return func(q Question) any {
		i := min(int(next.Add(1)), len(answers)) - 1
		return answers[i](q)
	}
}

// answer is nil if the script has none. A script that fails on purpose gives
// the *[jsonrpc.Error], and one that is silent errSilence.
func (a Answers) answer(q Question) (json.RawMessage, error) {
	answer := a[q.Key]
	if answer == nil {
		answer = a["*"]
	}
	if answer == nil {
		return nil, nil
	}
	switch response := answer(q).(type) {
	case nil:
		return nil, nil
	case silence:
		return nil, errSilence
	case *jsonrpc.Error:
		return nil, response
	default:
		return json.Marshal(response)
	}
}
