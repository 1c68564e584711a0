package mrtr

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// Replied is the outcome of a question: its answer, or the reason why there is none.
type Replied[T any] struct {
	// Value is the answer, and zero where there is none.
	Value T `json:"value"`
	// Reason is "" where the user accepted; else it is [Declined], [Cancelled],
	// [CannotBeAsked], or [Unanswered] after [Question.Within].
	Reason Reason `json:"reason,omitempty"`
}

// Accepted reports whether there is an answer.
func (r Replied[T]) Accepted() bool { return r.Reason == "" }

// Reply gives the outcome of q as a value, and lets the call go on whatever it is.
// [Optional] does so where the reason for a missing answer does not matter. A default
// belongs to q itself.
func Reply[T any](q Question[T]) Question[Replied[T]] {
	o := Question[Replied[T]]{err: q.Err()}
	switch {
	case o.err == nil && readsOutcome[T]():
		o.err = misuse("question %q: a Reply or ElicitRaw tells its outcome by itself", q.Key())
	case q.known != nil:
		o.known = &Replied[T]{Value: *q.known}
	case q.spec != nil:
		s := *q.spec
		s.lenient, s.tells = true, true
		o.spec = &s
	}
	return o
}

// ElicitRaw asks what code written for mcp.ServerSession.Elicit asks with, and gives
// the result that the code expects: its Action is "accept", "decline" or "cancel",
// and the call goes on with each. An accepted form fits its schema. Silence, after
// [Question.Within], is a cancel. A client that
// cannot be asked ends the call, as it gave an error before; so does an answer that
// never fits.
//
// The params are read now, and may change afterwards. Their ElicitationID is not sent. A form
// without a schema is sent one without properties.
func ElicitRaw(key string, params *mcp.ElicitParams) Question[*mcp.ElicitResult] {
	if params == nil {
		return Question[*mcp.ElicitResult]{err: misuse("question %q: ElicitRaw needs params", key)}
	}
	if era.IsURL(params) {
		q := ElicitURL(key, params.Message, params.URL)
		return rawQuestion(q.spec, q.err).Meta(params.Meta)
	}
	schema, err := json.Marshal(params.RequestedSchema)
	if err != nil {
		return rawQuestion(nil, misuse("question %q: its schema cannot be encoded: %v", key, err))
	}
	if isNull(schema) {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	q := ElicitAs[map[string]any](key, params.Message, schema)
	return rawQuestion(q.spec, q.err).Meta(params.Meta)
}

func rawQuestion(s *spec, err error) Question[*mcp.ElicitResult] {
	if err == nil {
		s.tells = true
	}
	return Question[*mcp.ElicitResult]{spec: s, err: err}
}

func (r *Replied[T]) readOutcome(value json.RawMessage, key string) (err error) {
	if isOutcome(value) {
		r.Reason = reason(value)
		return nil
	}
	r.Value, err = decodeAnswer[T](value, key)
	return err
}
