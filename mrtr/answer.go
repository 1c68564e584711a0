package mrtr

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

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
