package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Question is something the server asked.
type Question struct {
	// Key names the answer. A question that comes over the connection has no key
	// of its own: then it is the name of its form's property where the form has
	// one only, and the method otherwise.
	Key string
	// Method is elicitation/create, sampling/createMessage or roots/list.
	Method string
	// Message, Mode, Schema and URL are those of an elicitation.
	Message, Mode, URL string
	Schema             json.RawMessage
	// Params is the question whole.
	Params json.RawMessage
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
