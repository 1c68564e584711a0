package question

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mrtr-go/sdk/mrtr/listen"
)

// An Outcome is the reason why a question has no answer. Results and states have its text.
type Outcome string

// The outcomes without an answer.
const (
	Declined      Outcome = "declined"
	Cancelled     Outcome = "cancelled"
	CannotBeAsked Outcome = "client_cannot_be_asked"
	Unanswered    Outcome = "unanswered"
)

// An End is the error of a question without a usable answer, if it cannot do without one.
type End struct {
	Outcome Outcome
	Key     string
	Detail  string
}

func (e *End) Error() string { return fmt.Sprintf("%q: %s", e.Key, e.Outcome) }

var null = json.RawMessage("null")

// outcome stands in the state in place of an answer, which is never a JSON string. A question that
// does not tell outcomes apart has null for all, so that none of them changes the idem of an effect.
func (s *Spec) outcome(o Outcome) json.RawMessage {
	if !s.Tells {
		return null
	}
	return json.RawMessage(`"` + o + `"`)
}

// Unasked stands in for the answer of a client that cannot be asked, if the question is lenient.
func (s *Spec) Unasked() json.RawMessage { return s.outcome(CannotBeAsked) }

// IsNull reports whether a value is missing, or null.
func IsNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// IsOutcome reports whether a value of the state stands in place of an answer.
func IsOutcome(value json.RawMessage) bool { return IsNull(value) || value[0] == '"' }

// OutcomeOf is the outcome that a value of the state stands for.
func OutcomeOf(value json.RawMessage) Outcome {
	switch o := Outcome(bytes.Trim(value, `"`)); o {
	case Cancelled, CannotBeAsked, Unanswered:
		return o
	}
	return Declined
}

// HowStandIn tells a listener how a question was answered that its client could not be asked.
func HowStandIn(standIn json.RawMessage) string {
	if IsOutcome(standIn) {
		return listen.HowNotAsked
	}
	return listen.HowDefault
}
