package mrtr

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
)

// A Question is a keyed, typed question, which asking never changes. A malformed one has an Err,
// and ends the call that asks it.
type Question[T any] struct {
	spec  *question.Spec
	known *T
	err   error
}

// AnyQuestion is a [Question] of any type.
type AnyQuestion interface {
	Key() string
	Words() string
	Err() error

	asking() *question.Spec
}

// Key names the answer in the state and on the wire, "" for [Known].
func (q Question[T]) Key() string {
	if q.spec == nil {
		return ""
	}
	return q.spec.Key
}

// Words identifies the question's wording, "" for [Known].
func (q Question[T]) Words() string {
	if q.spec == nil {
		return ""
	}
	return q.spec.Words()
}

// Err is a [UsageError] if the question can't be asked.
func (q Question[T]) Err() error {
	if q.err == nil && q.spec == nil && q.known == nil {
		return misuse("the zero Question asks nothing: make one with Elicit, Choose, Confirm or Known")
	}
	return q.err
}

func (q Question[T]) asking() *question.Spec { return q.spec }

// KnownValue is the answer of a [Known] question.
func (q Question[T]) KnownValue() (v T, ok bool) {
	if q.known == nil {
		return v, false
	}
	return *q.known, true
}

// Default answers for clients that can't be asked, if the [UnaskablePolicy] says so, and after
// [Question.Within].
func (q Question[T]) Default(v T) Question[T] {
	return q.change(func(s *question.Spec) error {
		if s.Confirms {
			return errors.New("a Confirm has no default")
		}
		if readsOutcome[T]() {
			return errors.New("its default belongs to the question inside the Reply, and an ElicitRaw has none")
		}
		value, err := form.Encode(v, s.Key)
		if err == nil {
			err = s.Default(value)
		}
		if err == nil && s.Kind == question.Form {
			_, err = decodeAnswer[T](value, s.Key)
		}
		if err != nil {
			return fmt.Errorf("its default cannot be an answer: %v", err)
		}
		return nil
	})
}

// Prefill shows v in the form, to be accepted or changed. Put a v that may change between rounds
// into [Once].
func (q Question[T]) Prefill(v T) Question[T] {
	return q.change(func(s *question.Spec) error {
		if s.Kind != question.Form || s.Confirms || readsOutcome[T]() {
			return errors.New("only an Elicit, a Choose and the like can be prefilled, inside a Reply")
		}
		content, err := form.Encode(v, s.Key)
		if err != nil {
			return fmt.Errorf("it cannot be prefilled: %v", err)
		}
		return s.Reshape("it cannot be prefilled", func(schema json.RawMessage) (json.RawMessage, error) { return form.Prefill(schema, content) })
	})
}

// Within gives the user d to answer. Then the Default stands in. Without one a [Confirm] is false,
// an [Optional] nil, a [Reply] [Unanswered] and an [ElicitRaw] cancelled; any other question ends
// the call.
func (q Question[T]) Within(d time.Duration) Question[T] {
	return q.change(func(s *question.Spec) error {
		if d < time.Millisecond {
			return fmt.Errorf("nobody answers within %v", d)
		}
		s.Within(d)
		return nil
	})
}

// AnyWords lets an answer stand though the question's words have changed since.
func (q Question[T]) AnyWords() Question[T] {
	return q.change(func(s *question.Spec) error { s.AnyWords = true; return nil })
}

// Meta sends meta as the _meta of the question. It is not part of its words.
func (q Question[T]) Meta(meta mcp.Meta) Question[T] {
	return q.change(func(s *question.Spec) (err error) {
		if s.Kind != question.Form && s.Kind != question.URL {
			return errors.New("only an elicitation can be given a Meta")
		}
		if s.Meta = nil; len(meta) > 0 {
			s.Meta, err = json.Marshal(meta)
		}
		return err
	})
}

// change returns the question with the change that f makes, or with the mistake that f finds.
// One that is wrong already, or Known, stays as it is.
func (q Question[T]) change(f func(s *question.Spec) error) Question[T] {
	if q.Err() != nil || q.spec == nil {
		return q
	}
	s := *q.spec
	if err := f(&s); err != nil {
		q.err = misuse("question %q: %v", s.Key, err)
		return q
	}
	q.spec = &s
	return q
}

// Known is a question that has its answer already and is never sent.
func Known[T any](v T) Question[T] { return Question[T]{known: &v} }

// Optional gives nil for a decline, a cancel, and a client that can't be asked, which end the
// call otherwise.
func Optional[T any](q Question[T]) Question[*T] {
	o := Question[*T]{err: q.Err()}
	switch {
	case o.err == nil && readsOutcome[T]():
		o.err = misuse("question %q: a Reply or ElicitRaw goes on without an answer by itself", q.Key())
	case q.known != nil:
		o.known = &q.known
	case q.spec != nil:
		s := *q.spec
		s.Lenient = true
		o.spec = &s
	}
	return o
}

// twice is the mistake of a key that stands for two of a kind in one entry of a handler.
func twice(key, kind string) error {
	return misuse("key %q stands for two %s: each needs a key of its own", key, kind)
}

// specsOf appends the specs of the questions, without those that are Known.
func specsOf(specs []*question.Spec, questions []AnyQuestion) ([]*question.Spec, error) {
	var seen map[string]bool
	if len(questions) > fewQuestions {
		seen = make(map[string]bool, len(questions))
	}
	for _, q := range questions {
		if q == nil {
			return nil, misuse("a question is nil")
		}
		if err := q.Err(); err != nil {
			return nil, err
		}
		s := q.asking()
		if s == nil {
			continue
		}
		again := seen[s.Key]
		if seen != nil {
			seen[s.Key] = true
		} else {
			again = slices.ContainsFunc(specs, func(other *question.Spec) bool { return other.Key == s.Key })
		}
		if again {
			return nil, twice(s.Key, "questions")
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// fewQuestions are few enough to be looked through for one of the same key.
const fewQuestions = 8
