package mrtr

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"

	"github.com/mrtr-go/sdk/internal/plaintext"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
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
	q.spec.typ = registerAnswerType[T]()
	return q
}

// ElicitURL asks the user to visit an address, for data that must not pass through
// the client, such as credentials. An accept means that the user agreed to go
// there, not that they are done: [Visits] tell when they are.
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
	s := &spec{kind: formKind, key: key, typ: answerTypeName[T]()}
	s.say(message, schema)
	var err error
	if s.form, err = form.Of(s.schema); err != nil {
		return Question[T]{err: misuse("question %q: %v", key, err)}
	}
	return Question[T]{spec: s}
}

func checkQuestion(key, message string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if message == "" {
		return misuse("question %q: its message is empty", key)
	}
	return nil
}
