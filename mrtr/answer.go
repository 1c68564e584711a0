package mrtr

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
)

// decodeAnswer reads the answer to the question named key. The outcome of a lenient question
// without one reads as the zero value, unless T tells outcomes apart.
func decodeAnswer[T any](value json.RawMessage, key string) (T, error) {
	if readsOutcome[T]() {
		return decodeOutcome[T](value, key)
	}
	if question.IsOutcome(value) {
		var none T
		return none, nil
	}
	return form.Decode[T](value, key)
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
	case !question.IsOutcome(value):
		result.Content, err = form.Decode[map[string]any](value, key)
	case question.OutcomeOf(value) == question.Declined:
		result.Action = "decline"
	default:
		result.Action = "cancel"
	}
	*any(v).(**mcp.ElicitResult) = result
	return *v, err
}
