package mrtr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/plaintext"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/sse/era"
)

// A Choice is a value to pick.
type Choice struct {
	Value string
	// Title is shown in place of the value, unless empty.
	Title string
}

// Choices makes choices without titles.
func Choices(values ...string) []Choice {
	choices := make([]Choice, len(values))
	for i, v := range values {
		choices[i].Value = v
	}
	return choices
}

// Elicit asks a form question. T is the shape of the answer: a string, bool, integer or number; a
// string type with a method Choices() []Choice; or a struct of these, of lists of choices, and of
// time.Time, an instant: a day is a string with format:"date". Fields are named by json tags,
// described by jsonschema tags, and optional as pointers or with omitempty. Other tags are
// keywords: title, minLength, maxLength, format, minimum, maximum, minItems, maxItems, default.
//
//	type Order struct {
//		Email string `json:"email" format:"email" jsonschema:"where the receipt goes"`
//		Count int    `json:"count" title:"How many" minimum:"1" maximum:"9" default:"1"`
//	}
//
// An answer that does not fit is asked for again.
func Elicit[T any](key, message string) Question[T] {
	schema, err := answerTypes.Schema(reflect.TypeFor[T](), key)
	if err != nil {
		return Question[T]{err: misuse("question %q: %v", key, err)}
	}
	return elicit[T](key, message, schema)
}

// answerTypes derives the forms of the types that answers are read into.
var answerTypes = form.Types{Choices: func(t reflect.Type) ([]form.Choice, bool) {
	enum, ok := reflect.New(t).Interface().(interface{ Choices() []Choice })
	if !ok {
		return nil, false
	}
	return formChoices(enum.Choices()), true
}}

func formChoices(choices []Choice) []form.Choice {
	all := make([]form.Choice, len(choices))
	for i, c := range choices {
		all[i] = form.Choice(c)
	}
	return all
}

// Choose asks for one of a few values.
func Choose(key, message string, choices ...Choice) Question[string] {
	schema, err := form.OfChoices(key, formChoices(choices))
	if err != nil {
		return Question[string]{err: misuse("question %q: %v", key, err)}
	}
	return elicit[string](key, message, schema)
}

// ChooseSome asks for any number of values, or as many as [Question.Between] says.
func ChooseSome(key, message string, choices ...Choice) Question[[]string] {
	schema, err := form.OfSeveralChoices(key, formChoices(choices))
	if err != nil {
		return Question[[]string]{err: misuse("question %q: %v", key, err)}
	}
	return elicit[[]string](key, message, schema)
}

// Confirm asks for a yes: only a person's yes is true. A decline, a cancel, and a client that
// can't be asked are false and don't end the call: [Stop] it.
func Confirm(key, message string) Question[bool] {
	q := Elicit[bool](key, message)
	if q.err != nil {
		return q
	}
	q.spec.Lenient, q.spec.Confirms = true, true
	return q
}

// ElicitAs asks with a schema made at run time: an object with primitive properties. T is a
// map[string]any, a struct, or the type of the one property, named key.
func ElicitAs[T any](key, message string, schema json.RawMessage) Question[T] {
	var compact bytes.Buffer
	if err := json.Compact(&compact, schema); err != nil {
		return Question[T]{err: misuse("question %q: its schema cannot be read: %v", key, err)}
	}
	q := elicit[T](key, message, compact.Bytes())
	if q.err != nil {
		return q
	}
	if err := form.Fits(reflect.TypeFor[T](), key, q.spec.Schema); err != nil {
		q.err = misuse("question %q: %v", key, err)
		return q
	}
	return q
}

// ElicitURL asks the user to visit an address. An accept means that they agreed to go: package
// visit hears when they are done.
func ElicitURL(key, message, address string) Question[struct{}] {
	if err := checkQuestion(key, message); err != nil {
		return Question[struct{}]{err: err}
	}
	if u, err := url.Parse(address); err != nil || u.Scheme == "" || u.Host == "" || plaintext.Text(address) != address {
		return Question[struct{}]{err: misuse("question %q: ElicitURL needs an absolute address, with special characters percent-encoded", key)}
	}
	return Question[struct{}]{spec: question.OfURL(key, message, address)}
}

func elicit[T any](key, message string, schema json.RawMessage) Question[T] {
	if err := checkQuestion(key, message); err != nil {
		return Question[T]{err: err}
	}
	s, err := question.OfForm(key, message, schema)
	if err != nil {
		return Question[T]{err: misuse("question %q: %v", key, err)}
	}
	return Question[T]{spec: s}
}

func checkQuestion(key, message string) error {
	if err := usage.CheckKey(key); err != nil {
		return err
	}
	if message == "" {
		return misuse("question %q: its message is empty", key)
	}
	return nil
}

// maxQuoted is long enough for a name, an address or a file's path.
const maxQuoted = 200

// Quote puts foreign text into a message, so that it can't pose as the question: one line
// in double quotes, of at most 200 visible characters.
//
//	mrtr.Confirm("delete", "Delete "+mrtr.Quote(in.Name)+"?")
func Quote(text string) string { return plaintext.Quote(text, maxQuoted) }

// Verbatim sends the question as written. Else control characters are spelled out (\u202e).
func (q Question[T]) Verbatim() Question[T] {
	return q.change(func(s *question.Spec) error {
		s.Verbatim = true
		return s.Reshape("it cannot be sent as it is", func(schema json.RawMessage) (json.RawMessage, error) { return schema, nil })
	})
}

// Label is the title of a form's one field.
func (q Question[T]) Label(title string) Question[T] { return q.annotate("title", title) }

// Describe describes a form's one field.
func (q Question[T]) Describe(description string) Question[T] {
	return q.annotate("description", description)
}

func (q Question[T]) annotate(keyword, text string) Question[T] {
	return q.change(func(s *question.Spec) error {
		if s.Kind != question.Form || readsOutcome[T]() || form.IsWhole(reflect.TypeFor[T]()) {
			return fmt.Errorf("only a form of one field can be given a %s, inside a Reply; a struct has tags", keyword)
		}
		if text == "" {
			return fmt.Errorf("its %s is empty", keyword)
		}
		return s.Reshape("it cannot be given a "+keyword, func(schema json.RawMessage) (json.RawMessage, error) {
			return form.SetText(schema, s.Key, keyword, text)
		})
	})
}

// Between bounds how many values a [ChooseSome], or an Elicit of a list, takes. A number has the tags
// minimum and maximum, in a struct.
func (q Question[T]) Between(least, most int) Question[T] {
	return q.change(func(s *question.Spec) error {
		t := reflect.TypeFor[T]()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if s.Kind != question.Form || t.Kind() != reflect.Slice || least < 0 || most < 1 {
			return errors.New("Between is for a ChooseSome or an Elicit of a list, and its bounds are 0 and 1 or more: a number is a field of a struct, with the tags minimum and maximum")
		}
		return s.Reshape("its bounds cannot hold", func(schema json.RawMessage) (json.RawMessage, error) {
			return form.Limit(schema, s.Key, least, most)
		})
	})
}

// Sample asks the client's model for a message. It is deprecated upstream.
func Sample(key string, params *mcp.CreateMessageWithToolsParams) Question[*mcp.CreateMessageWithToolsResult] {
	if err := usage.CheckKey(key); err != nil {
		return Question[*mcp.CreateMessageWithToolsResult]{err: err}
	}
	if params == nil {
		return Question[*mcp.CreateMessageWithToolsResult]{err: misuse("question %q: Sample needs params", key)}
	}
	sent, err := json.Marshal(params)
	if err != nil {
		return Question[*mcp.CreateMessageWithToolsResult]{err: misuse("question %q: sampling params: %v", key, err)}
	}
	kind := question.Sample
	if era.CapabilityFor(params) == era.SamplingTools {
		kind = question.Tools
	}
	return Question[*mcp.CreateMessageWithToolsResult]{spec: &question.Spec{Kind: kind, Key: key, Schema: sent}}
}

// Roots asks for the client's roots. It is deprecated upstream.
func Roots(key string) Question[*mcp.ListRootsResult] {
	if err := usage.CheckKey(key); err != nil {
		return Question[*mcp.ListRootsResult]{err: err}
	}
	return Question[*mcp.ListRootsResult]{spec: &question.Spec{Kind: question.Roots, Key: key}}
}

// Replied is an answer, or the reason why there is none.
type Replied[T any] struct {
	Value T `json:"value"`
	// Reason is "" if the user accepted; else it is [Declined], [Cancelled], [CannotBeAsked] or
	// [Unanswered].
	Reason Reason `json:"reason,omitempty"`
}

// Accepted reports whether there is an answer.
func (r Replied[T]) Accepted() bool { return r.Reason == "" }

// Reply makes the outcome of q its answer, so that no outcome ends the call. A default belongs to
// q itself.
func Reply[T any](q Question[T]) Question[Replied[T]] {
	o := Question[Replied[T]]{err: q.Err()}
	switch {
	case o.err == nil && readsOutcome[T]():
		o.err = misuse("question %q: a Reply or ElicitRaw tells its outcome by itself", q.Key())
	case q.known != nil:
		o.known = &Replied[T]{Value: *q.known}
	case q.spec != nil:
		s := *q.spec
		s.Lenient, s.Tells = true, true
		o.spec = &s
	}
	return o
}

// ElicitRaw asks as code for mcp.ServerSession.Elicit does, and gives its result. The call goes
// on after a decline or a cancel; silence is a cancel.
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
	if question.IsNull(schema) {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	q := ElicitAs[map[string]any](key, params.Message, schema)
	return rawQuestion(q.spec, q.err).Meta(params.Meta)
}

func rawQuestion(s *question.Spec, err error) Question[*mcp.ElicitResult] {
	if err == nil {
		s.Tells = true
	}
	return Question[*mcp.ElicitResult]{spec: s, err: err}
}

func (r *Replied[T]) readOutcome(value json.RawMessage, key string) (err error) {
	if question.IsOutcome(value) {
		r.Reason = Reason(question.OutcomeOf(value))
		return nil
	}
	r.Value, err = decodeAnswer[T](value, key)
	return err
}
