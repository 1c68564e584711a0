package mrtr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/plaintext"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/sse/era"
)

// A Question is a keyed, typed question, which asking never changes. A malformed one has an Err,
// and ends the call that asks it.
type Question[T any] struct {
	spec  *spec
	known *T
	err   error
}

// AnyQuestion is a [Question] of any type.
type AnyQuestion interface {
	Key() string
	Words() string
	Err() error

	asking() *spec
}

// Key names the answer in the state and on the wire, "" for [Known].
func (q Question[T]) Key() string {
	if q.spec == nil {
		return ""
	}
	return q.spec.key
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

func (q Question[T]) asking() *spec { return q.spec }

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
	return q.change(func(s *spec) error {
		if s.confirms {
			return errors.New("a Confirm has no default")
		}
		if readsOutcome[T]() {
			return errors.New("its default belongs to the question inside the Reply, and an ElicitRaw has none")
		}
		value, err := form.Encode(v, s.key)
		if err == nil && s.kind == formKind {
			if err = s.form.Check(value); err == nil {
				_, err = decodeAnswer[T](value, s.key)
			}
		}
		if err != nil {
			return fmt.Errorf("its default cannot be an answer: %v", err)
		}
		s.absence = &absence{answer: value, after: s.patience()}
		return nil
	})
}

// Prefill shows v in the form, to be accepted or changed. Put a v that may change between rounds
// into [Once].
func (q Question[T]) Prefill(v T) Question[T] {
	return q.change(func(s *spec) error {
		if s.kind != formKind || s.confirms || readsOutcome[T]() {
			return errors.New("only an Elicit, a Choose and the like can be prefilled, inside a Reply")
		}
		content, err := form.Encode(v, s.key)
		if err != nil {
			return fmt.Errorf("it cannot be prefilled: %v", err)
		}
		return s.reshape("it cannot be prefilled", func(schema json.RawMessage) (json.RawMessage, error) { return form.Prefill(schema, content) })
	})
}

// Within gives the user d to answer. Then the Default stands in. Without one a [Confirm] is false,
// an [Optional] nil, a [Reply] [Unanswered] and an [ElicitRaw] cancelled; any other question ends
// the call.
func (q Question[T]) Within(d time.Duration) Question[T] {
	return q.change(func(s *spec) error {
		if d < time.Millisecond {
			return fmt.Errorf("nobody answers within %v", d)
		}
		s.absence = &absence{answer: s.fallback(), after: d}
		return nil
	})
}

// AnyWords lets an answer stand though the question's words have changed since.
func (q Question[T]) AnyWords() Question[T] {
	return q.change(func(s *spec) error { s.anyWords = true; return nil })
}

// Meta sends meta as the _meta of the question. It is not part of its words.
func (q Question[T]) Meta(meta mcp.Meta) Question[T] {
	return q.change(func(s *spec) (err error) {
		if s.kind != formKind && s.kind != urlKind {
			return errors.New("only an elicitation can be given a Meta")
		}
		if s.meta = nil; len(meta) > 0 {
			s.meta, err = json.Marshal(meta)
		}
		return err
	})
}

// change returns the question with the change that f makes, or with the mistake that f finds.
// One that is wrong already, or Known, stays as it is.
func (q Question[T]) change(f func(s *spec) error) Question[T] {
	if q.Err() != nil || q.spec == nil {
		return q
	}
	s := *q.spec
	if err := f(&s); err != nil {
		q.err = misuse("question %q: %v", s.key, err)
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
		s.lenient = true
		o.spec = &s
	}
	return o
}

// kind is the kind of input request that a question becomes.
type kind string

const (
	formKind   kind = "form"
	urlKind    kind = "url"
	sampleKind kind = "sample"
	toolsKind  kind = "sample with tools"
	rootsKind  kind = "roots"
)

func (k kind) capability() era.Capability {
	switch k {
	case formKind:
		return era.FormElicitation
	case urlKind:
		return era.URLElicitation
	case sampleKind:
		return era.Sampling
	case toolsKind:
		return era.SamplingTools
	case rootsKind:
		return era.Roots
	}
	return era.NoCapability
}

// spec is a question without its Go type. The client is sent it, and the state
// keeps it until it is answered.
type spec struct {
	kind    kind
	key     string
	message string
	url     string
	schema  json.RawMessage // form: the schema as sent; sample: the params as sent
	meta    json.RawMessage // the _meta of an elicitation, nil for none
	lenient bool            // a decline, a cancel and a client that cannot be asked are answers
	tells   bool            // a decline and a cancel are answers that are told apart

	anyWords bool // an answer to other words is an answer

	confirms bool // it is a Confirm: set where the question is made, and in no state
	verbatim bool // see Verbatim: likewise

	// Set where the question is made. No state carries them.
	form    *form.Form
	absence *absence // nil if the question waits for its user; a state has it with a deadline, or if others may join
	written *wording // nil if message and schema are as the author wrote them
}

// absence is what becomes of a question that nobody answers.
type absence struct {
	answer json.RawMessage // that stands in, nil for none
	after  time.Duration   // 0 if a user may take any time
}

// fallback is the answer that stands in, nil for none.
func (s *spec) fallback() json.RawMessage {
	if s.absence == nil {
		return nil
	}
	return s.absence.answer
}

// patience is how long a user has to answer, 0 for any time.
func (s *spec) patience() time.Duration {
	if s.absence == nil {
		return 0
	}
	return s.absence.after
}

// A spec is itself AnyQuestion: linear code hands over its questions so, since the
// engine needs no Go type of them.
func (s *spec) Key() string   { return s.key }
func (s *spec) Err() error    { return nil }
func (s *spec) asking() *spec { return s }

// Words identifies the question in all its words, for an audit.
func (s *spec) Words() string { return s.digest(nil, true) }

// wordsFor identifies the words that an answer was given to: of a choice, the label that was
// chosen. So an answer stands when other choices come and go around it, and not when its own
// label changes.
func (s *spec) wordsFor(answer json.RawMessage) string {
	return s.digest(answer, s.kind != formKind || isOutcome(answer))
}

func (s *spec) digest(answer json.RawMessage, whole bool) string {
	p := digest.NewBuffer()
	defer p.Release()
	for _, part := range [...]string{string(s.kind), s.key, s.message, s.url} {
		p.B = append(append(p.B, part...), 0)
	}
	f, err := s.formOf()
	if whole || err != nil {
		p.B = append(p.B, s.schema...)
	} else {
		p.B = f.AppendWords(p.B, s.schema, answer)
	}
	return digest.Short(p.B)
}

// formOf is the form of the question. A question that came with a state has none yet.
func (s *spec) formOf() (_ *form.Form, err error) {
	if s.form == nil && s.kind == formKind {
		s.form, err = form.Of(s.schema)
	}
	return s.form, err
}

// sameText reports whether two questions are one.
func (s *spec) sameText(o *spec) bool {
	return s == o || s.kind == o.kind && s.key == o.key && s.message == o.message && s.url == o.url && string(s.schema) == string(o.schema)
}

// request is the question as go-sdk sends it, fresh each time because go-sdk may write to it.
// The note tells the user why the last answer did not fit.
func (s *spec) request(note string) (mcp.InputRequest, error) {
	message := s.message
	if note != "" {
		message += "\n\n" + plaintext.Text(note) // a type's own words may repeat the answer
	}
	var meta mcp.Meta
	if s.meta != nil {
		own := mcp.Meta{} // allocated here alone: most questions have none
		if err := json.Unmarshal(s.meta, &own); err != nil {
			return nil, fmt.Errorf("reading the _meta of a question: %w", err)
		}
		meta = own
	}
	switch s.kind {
	case formKind:
		return &mcp.ElicitParams{Meta: meta, Mode: "form", Message: message, RequestedSchema: s.schema}, nil
	case urlKind:
		return &mcp.ElicitParams{Meta: meta, Mode: "url", Message: message, URL: s.url}, nil
	case sampleKind, toolsKind:
		var p mcp.CreateMessageWithToolsParams //lint:ignore SA1019 still legal on the wire
		if err := json.Unmarshal(s.schema, &p); err != nil {
			return nil, fmt.Errorf("reading sampling params: %w", err)
		}
		return &p, nil
	case rootsKind:
		return &mcp.ListRootsParams{}, nil //lint:ignore SA1019 still legal on the wire
	}
	return nil, fmt.Errorf("unknown question kind %q", s.kind)
}

// twice is the mistake of a key that stands for two of a kind in one entry of a handler.
func twice(key, kind string) error {
	return misuse("key %q stands for two %s: each needs a key of its own", key, kind)
}

// wording is what a question says, as its author wrote it.
type wording struct {
	message string
	schema  json.RawMessage
}

// say sets what the question says. It does so where the question is made, so that its
// digest is the same in every process.
func (s *spec) say(message string, schema json.RawMessage) {
	s.message, s.schema, s.written = plaintext.Text(message), form.Plain(schema), nil
	if s.message == message && bytes.Equal(s.schema, schema) {
		return
	}
	if s.verbatim {
		s.message, s.schema = strings.ToValidUTF8(message, "\ufffd"), schema
		return
	}
	s.written = &wording{message, schema}
}

// asWritten is what the author gave to say.
func (s *spec) asWritten() (message string, schema json.RawMessage) {
	if s.written != nil {
		return s.written.message, s.written.schema
	}
	return s.message, s.schema
}

// reshape changes the form of a question that has been checked, as its author wrote it.
func (s *spec) reshape(wrong string, change func(schema json.RawMessage) (json.RawMessage, error)) error {
	message, schema := s.asWritten()
	schema, err := change(schema)
	if err == nil {
		s.say(message, schema)
	}
	if err == nil && s.kind == formKind {
		if s.form, err = form.Of(s.schema); err == nil && s.fallback() != nil {
			err = s.form.Check(s.fallback())
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %v", wrong, err)
	}
	return nil
}

// outcome is the value that the state keeps for an action without an answer.
func (s *spec) outcome(action string) json.RawMessage {
	switch {
	case !s.tells:
		return null
	case action == "cancel":
		return cancelledOutcome
	case action == notAsked:
		return unaskedOutcome
	case action == silence:
		return silentOutcome
	}
	return declinedOutcome
}

// specsOf appends the specs of the questions, without those that are Known.
func specsOf(specs []*spec, questions []AnyQuestion) ([]*spec, error) {
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
		again := seen[s.key]
		if seen != nil {
			seen[s.key] = true
		} else {
			again = slices.ContainsFunc(specs, func(other *spec) bool { return other.key == s.key })
		}
		if again {
			return nil, twice(s.key, "questions")
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// fewQuestions are few enough to be looked through for one of the same key.
const fewQuestions = 8
