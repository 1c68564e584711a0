package mrtrtest

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Answers are the script of a user: the answers to the questions of each key, the
// first to the first question, and so on; the last one is repeated. The answers
// under "*" are for all other questions. A question without an answer is left
// open, as by [Missing].
//
// The questions that a legacy client is asked have no key. Their answers are found
// under the name of the form's property, if it has one only, under the question's
// message, or under the one key whose first answer has content of the form's
// properties, or, where none has, the one whose first answer has no content.
type Answers map[string][]Answer

// An Answer makes the response to a question: anything that encodes as JSON, nil
// to leave the answer out, or a *jsonrpc.Error of go-sdk, which a modern client has no way
// to send and leaves out.
type Answer func(Question) any

// A Question is a question as the client sees it.
type Question struct {
	// Key is the key that the server gave it. A legacy client gets none: then it
	// is the name of the form's property if there is only one, and the method
	// otherwise.
	Key     string
	Method  string
	Message string // of an elicitation
	Schema  string // of a form, byte for byte
	URL     string // of an elicitation by URL
}

func questionOf(q wire.Question) Question {
	return Question{Key: q.Key, Method: q.Method, Message: q.Message, Schema: string(q.Schema), URL: q.URL}
}

// Accept accepts, with this content.
func Accept(content any) Answer {
	return func(Question) any { return accepted(content) }
}

// Value accepts, with v as the value of the form's only property. In a form of
// several, or none, it is the value of the question's key.
func Value(v any) Answer {
	return func(q Question) any {
		property := q.Key
		if names := q.properties(); len(names) == 1 {
			property = names[0]
		}
		return accepted(map[string]any{property: v})
	}
}

func accepted(content any) any { return map[string]any{"action": "accept", "content": content} }

// Raw answers with this JSON, whatever it is: the result of a sampling request, or
// an answer that no client library would send.
func Raw(response string) Answer {
	return func(Question) any { return json.RawMessage(response) }
}

// Decline is the answer of a user who declines.
func Decline(Question) any { return map[string]any{"action": "decline"} }

// Cancel is the answer of a user who dismissed the question.
func Cancel(Question) any { return map[string]any{"action": "cancel"} }

// Missing leaves the answer out. A legacy client, which cannot do that, answers
// with a JSON-RPC error.
func Missing(Question) any { return nil }

// script is the Answers of one call: it remembers how many of each were given.
type script struct {
	answers Answers
	keyless bool // the questions have no keys

	mu    sync.Mutex
	given map[string]int    // by the key in answers
	forms map[string]string // the keys in answers of forms without one, by message
}

func newScript(answers Answers, era Era) *script {
	return &script{answers: answers, keyless: era == Legacy, given: map[string]int{}, forms: map[string]string{}}
}

// answer is the next answer to a question.
func (s *script) answer(asked wire.Question) any {
	s.mu.Lock()
	q := questionOf(asked)
	key := s.key(&q)
	turns := s.answers[key]
	i := min(s.given[key], len(turns)-1)
	s.given[key]++
	s.mu.Unlock()
	if len(turns) == 0 || turns[i] == nil {
		return nil
	}
	return turns[i](q)
}

// key is the key in answers of a question. A form of several properties that came
// without its key gets it.
func (s *script) key(q *Question) string {
	for _, key := range []string{q.Key, q.Message} {
		if len(s.answers[key]) > 0 {
			return key
		}
	}
	if !s.keyless || q.Schema == "" {
		return "*"
	}
	if _, known := s.forms[q.Message]; !known {
		s.forms[q.Message] = s.fitting(*q)
	}
	q.Key = s.forms[q.Message]
	return q.Key
}

// fitting is the one key whose next answer has content for a form, or else the one whose
// answer has none; "*" if there is no such key.
func (s *script) fitting(q Question) string {
	properties := q.properties()
	var content, contentless []string
	for key, turns := range s.answers {
		if key == "*" || s.given[key] > 0 || len(turns) == 0 {
			continue
		}
		q.Key = key
		var answer any
		if turns[0] != nil {
			answer = turns[0](q)
		}
		text, _ := json.Marshal(answer) // an answer that does not encode has no content
		var given struct{ Content map[string]json.RawMessage }
		_ = json.Unmarshal(text, &given)
		names := slices.Collect(maps.Keys(given.Content))
		switch {
		case len(names) == 0:
			contentless = append(contentless, key)
		case !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(properties, name) }):
			content = append(content, key)
		}
	}
	for _, keys := range [][]string{content, contentless} {
		if len(keys) == 1 {
			return keys[0]
		}
	}
	return "*"
}

// properties are those of a question's form.
func (q Question) properties() []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal([]byte(q.Schema), &schema) // a question without a form has none
	return slices.Collect(maps.Keys(schema.Properties))
}
