package mrtr

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
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

// decodeAnswer reads the answer to the question named key. The outcome of a lenient question
// without one reads as the zero value, unless T tells outcomes apart.
func decodeAnswer[T any](value json.RawMessage, key string) (T, error) {
	if readsOutcome[T]() {
		return decodeOutcome[T](value, key)
	}
	if isOutcome(value) {
		var none T
		return none, nil
	}
	return form.Decode[T](value, key)
}

func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// The outcomes that stand in the state in place of an answer, which is never a JSON
// string. A question that does not tell them apart has null for all, so that none of
// them changes the idem of an effect.
var (
	null             = json.RawMessage("null")
	declinedOutcome  = json.RawMessage(`"declined"`)
	cancelledOutcome = json.RawMessage(`"cancelled"`)
	unaskedOutcome   = json.RawMessage(`"client_cannot_be_asked"`)
	silentOutcome    = json.RawMessage(`"unanswered"`)
)

// isOutcome reports whether a value of the state stands in place of an answer.
func isOutcome(value json.RawMessage) bool { return isNull(value) || value[0] == '"' }

// These stand beside the actions of a user.
const (
	notAsked = "not asked"
	silence  = "silence"
)

// reason is the reason of an outcome without an answer.
func reason(value json.RawMessage) Reason {
	switch {
	case bytes.Equal(value, cancelledOutcome):
		return Cancelled
	case bytes.Equal(value, unaskedOutcome):
		return CannotBeAsked
	case bytes.Equal(value, silentOutcome):
		return Unanswered
	}
	return Declined
}

// outcomeReader is a type of answers that tells outcomes apart.
type outcomeReader interface {
	readOutcome(value json.RawMessage, key string) error
}

// readsOutcome reports whether T tells outcomes apart. It makes no T, which would be
// an allocation in every round.
func readsOutcome[T any]() bool {
	switch any((*T)(nil)).(type) {
	case outcomeReader, **mcp.ElicitResult:
		return true
	}
	return false
}

// reader reads an answer as T, for its error.
func reader[T any]() func(value json.RawMessage, key string) error {
	return func(value json.RawMessage, key string) error {
		_, err := decodeAnswer[T](value, key)
		return err
	}
}

func decodeOutcome[T any](value json.RawMessage, key string) (T, error) {
	v := new(T)
	if r, ok := any(v).(outcomeReader); ok {
		err := r.readOutcome(value, key)
		return *v, err
	}
	result := &mcp.ElicitResult{Action: "accept"}
	var err error
	switch {
	case !isOutcome(value):
		result.Content, err = form.Decode[map[string]any](value, key)
	case reason(value) == Declined:
		result.Action = "decline"
	default:
		result.Action = "cancel"
	}
	*any(v).(**mcp.ElicitResult) = result
	return *v, err
}

// isReply reports whether a type is Replied, whose first field is the answer.
func isReply(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[outcomeReader]())
}
