package mrtr

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/mrtr-go/sdk/internal/plaintext"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

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
	if q.Err() != nil || q.spec == nil {
		return q
	}
	s := *q.spec
	s.verbatim = true
	q.spec = &s
	return q.reshape("", func(schema json.RawMessage) (json.RawMessage, error) { return schema, nil })
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
	if q.Err() != nil || q.spec == nil {
		return q
	}
	if q.spec.kind != formKind || readsOutcome[T]() || form.IsWhole(reflect.TypeFor[T]()) {
		q.err = misuse("question %q: only a form of one field can be given a %s, inside a Reply; a struct has tags", q.spec.key, keyword)
		return q
	}
	if text == "" {
		q.err = misuse("question %q: its %s is empty", q.spec.key, keyword)
		return q
	}
	return q.reshape("it cannot be given a "+keyword, func(s json.RawMessage) (json.RawMessage, error) {
		return form.SetText(s, q.spec.key, keyword, text)
	})
}

// Between bounds how many values a [ChooseSome] takes, or an [Elicit] of a list. Fewer
// choices than the least make an error in Err: leave the question out then.
func (q Question[T]) Between(least, most int) Question[T] {
	if q.Err() != nil || q.spec == nil {
		return q
	}
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if q.spec.kind != formKind || t.Kind() != reflect.Slice || least < 0 || most < 1 {
		q.err = misuse("question %q: Between is for a ChooseSome or an Elicit of a list, and its bounds are 0 and 1 or more", q.spec.key)
		return q
	}
	return q.reshape("its bounds cannot hold", func(s json.RawMessage) (json.RawMessage, error) {
		return form.Limit(s, q.spec.key, least, most)
	})
}

// reshape changes the form of a question that has been checked, as its author wrote it.
func (q Question[T]) reshape(wrong string, change func(schema json.RawMessage) (json.RawMessage, error)) Question[T] {
	s := *q.spec
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
		q.err = misuse("question %q: %s: %v", s.key, wrong, err)
		return q
	}
	q.spec = &s
	return q
}
