// Package question is a question without its Go type: its words, the request that carries it, how a
// response to it is judged, and its place in a state.
package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/plaintext"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/sse/era"
)

// Kind is the kind of input request that a question becomes.
type Kind string

// The kinds, as a state has them.
const (
	Form   Kind = "form"
	URL    Kind = "url"
	Sample Kind = "sample"
	Tools  Kind = "sample with tools"
	Roots  Kind = "roots"
)

// Capability is what a client declares that can be asked a question of the kind.
func (k Kind) Capability() era.Capability {
	switch k {
	case Form:
		return era.FormElicitation
	case URL:
		return era.URLElicitation
	case Sample:
		return era.Sampling
	case Tools:
		return era.SamplingTools
	case Roots:
		return era.Roots
	}
	return era.NoCapability
}

// Spec is a question as its client is sent it. The state keeps it until it is answered.
type Spec struct {
	Kind    Kind
	Key     string
	Message string
	URL     string
	Schema  json.RawMessage // form: the schema as sent; sample: the params as sent
	Meta    json.RawMessage // the _meta of an elicitation, nil for none
	Lenient bool            // a decline, a cancel and a client that cannot be asked are answers
	Tells   bool            // a decline and a cancel are answers that are told apart

	AnyWords bool // an answer to other words is an answer

	// Set where the question is made. No state carries them.
	Confirms bool // the answer is a yes or a no
	Verbatim bool // sent as written
	form     *form.Form
	Absence  *Absence // nil if the question waits for its user; a state has it with a deadline, or if others may join
	written  *wording // nil if message and schema are as the author wrote them
}

// Absence says what stands in for the answer of a user who gives none.
type Absence struct {
	Answer json.RawMessage // nil for none
	After  time.Duration   // 0 if a user may take any time
}

// OfForm makes the question that a form's schema asks.
func OfForm(key, message string, schema json.RawMessage) (*Spec, error) {
	s := &Spec{Kind: Form, Key: key}
	s.say(message, schema)
	_, err := s.formOf()
	return s, err
}

// OfURL makes the question that sends its user to an address.
func OfURL(key, message, address string) *Spec {
	s := &Spec{Kind: URL, Key: key, URL: address}
	s.say(message, nil)
	return s
}

// Fallback is the answer that stands in for a user who gives none, nil if nothing does.
func (s *Spec) Fallback() json.RawMessage {
	if s.Absence == nil {
		return nil
	}
	return s.Absence.Answer
}

// Patience is how long a user has to answer, 0 for any time.
func (s *Spec) Patience() time.Duration {
	if s.Absence == nil {
		return 0
	}
	return s.Absence.After
}

// Default has an answer stand in for a user who gives none, if the question can have that answer.
func (s *Spec) Default(answer json.RawMessage) error {
	if s.Kind == Form {
		if err := s.form.Check(answer); err != nil {
			return err
		}
	}
	s.Absence = &Absence{Answer: answer, After: s.Patience()}
	return nil
}

// Within gives the user so long to answer.
func (s *Spec) Within(d time.Duration) { s.Absence = &Absence{Answer: s.Fallback(), After: d} }

// Words identifies the question in all its words, for an audit.
func (s *Spec) Words() string { return s.digest(nil, true) }

// WordsFor identifies the words that an answer was given to: of a choice, the label that was
// chosen. So an answer stands when other choices come and go around it, and not when its own
// label changes.
func (s *Spec) WordsFor(answer json.RawMessage) string {
	return s.digest(answer, s.Kind != Form || IsOutcome(answer))
}

func (s *Spec) digest(answer json.RawMessage, whole bool) string {
	p := digest.NewBuffer()
	defer p.Release()
	for _, part := range [...]string{string(s.Kind), s.Key, s.Message, s.URL} {
		p.B = append(append(p.B, part...), 0)
	}
	f, err := s.formOf()
	if whole || err != nil {
		p.B = append(p.B, s.Schema...)
	} else {
		p.B = f.AppendWords(p.B, s.Schema, answer)
	}
	return digest.Short(p.B)
}

// formOf is the form of the question. A question that came with a state has none yet.
func (s *Spec) formOf() (_ *form.Form, err error) {
	if s.form == nil && s.Kind == Form {
		s.form, err = form.Of(s.Schema)
	}
	return s.form, err
}

// SameText reports whether two questions are one.
func (s *Spec) SameText(o *Spec) bool {
	return s == o || s.Kind == o.Kind && s.Key == o.Key && s.Message == o.Message && s.URL == o.URL && string(s.Schema) == string(o.Schema)
}

// request is the question as go-sdk sends it, fresh each time because go-sdk may write to it.
// The note tells the user why the last answer did not fit.
func (s *Spec) request(note string) (mcp.InputRequest, error) {
	message := s.Message
	if note != "" {
		message += "\n\n" + plaintext.Text(note) // a type's own words may repeat the answer
	}
	var meta mcp.Meta
	if s.Meta != nil {
		own := mcp.Meta{} // allocated here alone: most questions have none
		if err := json.Unmarshal(s.Meta, &own); err != nil {
			return nil, fmt.Errorf("reading the _meta of a question: %w", err)
		}
		meta = own
	}
	switch s.Kind {
	case Form:
		return &mcp.ElicitParams{Meta: meta, Mode: "form", Message: message, RequestedSchema: s.Schema}, nil
	case URL:
		return &mcp.ElicitParams{Meta: meta, Mode: "url", Message: message, URL: s.URL}, nil
	case Sample, Tools:
		var p mcp.CreateMessageWithToolsParams //lint:ignore SA1019 still legal on the wire
		if err := json.Unmarshal(s.Schema, &p); err != nil {
			return nil, fmt.Errorf("reading sampling params: %w", err)
		}
		return &p, nil
	case Roots:
		return &mcp.ListRootsParams{}, nil //lint:ignore SA1019 still legal on the wire
	}
	return nil, fmt.Errorf("unknown question kind %q", s.Kind)
}

// wording is a question's text and form, as its author wrote them.
type wording struct {
	message string
	schema  json.RawMessage
}

// say sets the wording. It does so where the question is made, so that its digest is the same in
// every process.
func (s *Spec) say(message string, schema json.RawMessage) {
	s.Message, s.Schema, s.written = plaintext.Text(message), form.Plain(schema), nil
	if s.Message == message && bytes.Equal(s.Schema, schema) {
		return
	}
	if s.Verbatim {
		s.Message, s.Schema = strings.ToValidUTF8(message, "\ufffd"), schema
		return
	}
	s.written = &wording{message, schema}
}

// Reshape changes the form of a question that has been checked, as its author wrote it. wrong says
// what a change does that the question can't have.
func (s *Spec) Reshape(wrong string, change func(schema json.RawMessage) (json.RawMessage, error)) error {
	message, schema := s.Message, s.Schema
	if s.written != nil {
		message, schema = s.written.message, s.written.schema
	}
	schema, err := change(schema)
	if err == nil {
		s.say(message, schema)
	}
	if err == nil && s.Kind == Form {
		if s.form, err = form.Of(s.Schema); err == nil && s.Fallback() != nil {
			err = s.form.Check(s.Fallback())
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %v", wrong, err)
	}
	return nil
}
