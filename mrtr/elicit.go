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
	"github.com/mrtr-go/sdk/sse/era"
)

// A Choice is one of the values that a person may pick.
type Choice struct {
	Value string
	// Title is shown to the user instead of the value, unless it is empty.
	Title string
}

// Choices makes plain choices of values.
func Choices(values ...string) []Choice {
	choices := make([]Choice, len(values))
	for i, v := range values {
		choices[i].Value = v
	}
	return choices
}

// Elicit asks a form question. T gives the shape of the answer:
//
//   - a string, bool, integer or number: a form of one property, named key, which
//     [Question.Label] gives a name for people;
//   - a string type with a method Choices() []Choice: an enum;
//   - a struct of such fields, slices of an enum, and [time.Time], named by
//     their json tags, described by their jsonschema tags, and optional where
//     they are pointers or tagged omitempty. The fields of an embedded struct are
//     fields of the form.
//
// Other tags of a struct's field are named as the keywords that they set: title;
// minLength and maxLength (in characters), and format (email, uri, date, date-time)
// of a string; minimum and maximum of a number; minItems and maxItems of a list; and
// default, which the user finds filled in (commas stand between the values of a
// list). A tag that does not go with its field is an error.
//
//	type Order struct {
//		Email string `json:"email" format:"email" jsonschema:"where the receipt goes"`
//		Count int    `json:"count" title:"How many" minimum:"1" maximum:"9" default:"1"`
//	}
//
// The protocol allows no nesting: any other type is an error in [Question.Err].
// Every answer is checked against that schema before a handler sees it. Whole
// numbers go up to 2^53-1, for JSON numbers beyond it are not exact. A list takes
// each choice once.
//
// A type that decodes itself (UnmarshalText, which makes it a string in the form, or
// UnmarshalJSON) may refuse an answer: it is asked for again, with a note that names
// the property. The note has the error's text only where the error has a method
// ToolErrorHints() []string.
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

// Choose asks for one of a few values, given at run time. On the wire the answer
// is an object with one property, named as the key. A value is never altered, since
// the answer is compared with it: one that has characters which no message may have
// (see [Question.Verbatim]) gets a title that spells them out.
func Choose(key, message string, choices ...Choice) Question[string] {
	schema, err := form.OfChoices(key, formChoices(choices))
	if err != nil {
		return Question[string]{err: misuse("question %q: %v", key, err)}
	}
	return elicit[string](key, message, schema)
}

// ChooseSome asks for any number of a few values, given at run time: none, all, or as
// many as [Question.Between] says. The answer has each value once, in the order in
// which the client sent them.
func ChooseSome(key, message string, choices ...Choice) Question[[]string] {
	schema, err := form.OfSeveralChoices(key, formChoices(choices))
	if err != nil {
		return Question[[]string]{err: misuse("question %q: %v", key, err)}
	}
	return elicit[[]string](key, message, schema)
}

// Confirm asks for a yes. The answer is true only when a person said yes. A
// decline, a cancel, and a client that cannot be asked are all false, and do not
// end the call: return a result that says that nothing was done, rather than an error.
func Confirm(key, message string) Question[bool] {
	q := Elicit[bool](key, message)
	if q.err != nil {
		return q
	}
	q.spec.lenient, q.spec.confirms = true, true
	return q
}

// ElicitAs asks a form question whose schema is made at run time: a JSON Schema
// object with primitive properties, as the protocol restricts it. It is sent as it
// is, but for the space between its tokens, and for what [Question.Verbatim] says of
// its titles and descriptions.
//
// If T is map[string]any, the answer holds the properties that the schema names and
// no others. A struct has a field for each property of the schema, of its kind; its
// other fields stay zero. T may also be the type of the one property, which is then
// named key. An answer that fits the schema and not T, such as a number that is too
// large for an int8, is asked for again.
func ElicitAs[T any](key, message string, schema json.RawMessage) Question[T] {
	var compact bytes.Buffer
	if err := json.Compact(&compact, schema); err != nil {
		return Question[T]{err: misuse("question %q: its schema cannot be read: %v", key, err)}
	}
	q := elicit[T](key, message, compact.Bytes())
	if q.err != nil {
		return q
	}
	if err := form.Fits(reflect.TypeFor[T](), key, q.spec.schema); err != nil {
		q.err = misuse("question %q: %v", key, err)
		return q
	}
	return q
}

// ElicitURL asks the user to visit an address, for data that must not pass through
// the client, such as credentials. An accept means that the user agreed to go
// there, not that they are done: package visit hears when they are.
func ElicitURL(key, message, address string) Question[struct{}] {
	if err := checkQuestion(key, message); err != nil {
		return Question[struct{}]{err: err}
	}
	if u, err := url.Parse(address); err != nil || u.Scheme == "" || u.Host == "" || plaintext.Text(address) != address {
		return Question[struct{}]{err: misuse("question %q: ElicitURL needs an absolute address, with special characters percent-encoded", key)}
	}
	s := &spec{kind: urlKind, key: key, url: address}
	s.say(message, nil)
	return Question[struct{}]{spec: s}
}

func elicit[T any](key, message string, schema json.RawMessage) Question[T] {
	if err := checkQuestion(key, message); err != nil {
		return Question[T]{err: err}
	}
	s := &spec{kind: formKind, key: key}
	s.say(message, schema)
	var err error
	if s.form, err = form.Of(s.schema); err != nil {
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

// Quote prepares text for a question's message that somebody else supplied: an argument
// of the tool, which a model wrote, or a user's earlier answer. Bare, such text can pose
// as the question. Quoted, it is one line of at most 200 characters between double
// quotes:
//
//	mrtr.Confirm("delete", "Delete "+mrtr.Quote(in.Name)+"?")
//
// Its own quotes and backslashes get a backslash. Everything that cannot be seen is
// spelled out, as in \u200b: control characters and escape sequences, line breaks,
// bidirectional controls, zero-width characters, and combining marks that pile up. What
// is cut off leaves an ellipsis behind the closing quote.
func Quote(text string) string { return plaintext.Quote(text, maxQuoted) }

// Verbatim sends the question as it was written. Without it, some characters of the
// message, and of titles and descriptions, are spelled out, as in \u202e: control
// characters other than \n and \t, which may steer the client's terminal, and
// bidirectional embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069),
// which may make the question read as another one. Right-to-left letters and the marks
// U+200E and U+200F are sent as they are. Whatever an argument holds, the replacement
// does not end the call.
//
// Verbatim is for text that needs isolates and is all yours. Text that is not UTF-8 is
// put right all the same.
func (q Question[T]) Verbatim() Question[T] {
	return q.change(func(s *spec) error {
		s.verbatim = true
		return s.reshape("it cannot be sent as it is", func(schema json.RawMessage) (json.RawMessage, error) { return schema, nil })
	})
}

// Label names the field of a form that has just one; clients show the key otherwise. It
// is the title of the property, as the tag title is for a field of a struct. A Label
// belongs to the question inside a [Reply].
func (q Question[T]) Label(title string) Question[T] { return q.annotate("title", title) }

// Describe adds a description to the field of a form that has just one, as the jsonschema
// tag does for a field of a struct. It belongs to the question inside a [Reply].
func (q Question[T]) Describe(description string) Question[T] {
	return q.annotate("description", description)
}

func (q Question[T]) annotate(keyword, text string) Question[T] {
	return q.change(func(s *spec) error {
		if s.kind != formKind || readsOutcome[T]() || form.IsWhole(reflect.TypeFor[T]()) {
			return fmt.Errorf("only a form of one field can be given a %s, inside a Reply; a struct has tags", keyword)
		}
		if text == "" {
			return fmt.Errorf("its %s is empty", keyword)
		}
		return s.reshape("it cannot be given a "+keyword, func(schema json.RawMessage) (json.RawMessage, error) {
			return form.SetText(schema, s.key, keyword, text)
		})
	})
}

// Between bounds how many values a [ChooseSome] takes, or an [Elicit] of a list. Fewer
// choices than the least make an error in Err: leave the question out then.
func (q Question[T]) Between(least, most int) Question[T] {
	return q.change(func(s *spec) error {
		t := reflect.TypeFor[T]()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if s.kind != formKind || t.Kind() != reflect.Slice || least < 0 || most < 1 {
			return errors.New("Between is for a ChooseSome or an Elicit of a list, and its bounds are 0 and 1 or more")
		}
		return s.reshape("its bounds cannot hold", func(schema json.RawMessage) (json.RawMessage, error) {
			return form.Limit(schema, s.key, least, most)
		})
	})
}

// Sample asks the client's model for a message. The feature is deprecated
// upstream and still legal; a client that did not declare it, or sampling with
// tools where params name some, is refused.
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
	kind := sampleKind
	if era.CapabilityFor(params) == era.SamplingTools {
		kind = toolsKind
	}
	return Question[*mcp.CreateMessageWithToolsResult]{spec: &spec{kind: kind, key: key, schema: sent}}
}

// Roots asks for the client's roots. The feature is deprecated upstream and
// still legal; a client that did not declare it is refused.
func Roots(key string) Question[*mcp.ListRootsResult] {
	if err := usage.CheckKey(key); err != nil {
		return Question[*mcp.ListRootsResult]{err: err}
	}
	return Question[*mcp.ListRootsResult]{spec: &spec{kind: rootsKind, key: key}}
}

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
