package mrtr

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/form"
)

// A Question is a keyed, typed thing to ask. It is a value: made anywhere,
// checked when it is made, shared freely, and never changed by being asked.
//
// What was wrong with it, if anything, is in [Question.Err]. A wrong question
// is never sent: the call that asks it ends with that error.
type Question[T any] struct {
	spec  *spec
	known *T
	err   error
}

// AnyQuestion is a question of any type: what [Need] takes.
type AnyQuestion interface {
	// Key is what the answer is filed under, "" for [Known].
	Key() string
	// Err is what was wrong when the question was made.
	Err() error

	asking() *spec
}

// Key is what the answer is filed under, "" for [Known].
func (q Question[T]) Key() string {
	if q.spec == nil {
		return ""
	}
	return q.spec.key
}

// Err is what was wrong when the question was made, nil if it can be asked.
func (q Question[T]) Err() error {
	if q.err == nil && q.spec == nil && q.known == nil {
		return misuse("the zero Question asks nothing: make one with Elicit, Choose, Confirm or Known")
	}
	return q.err
}

func (q Question[T]) asking() *spec { return q.spec }

// Default gives the question an answer for clients that cannot be asked. It
// is used where the policy for such clients says so ([LegacyDefaults]) and
// nowhere else: a person who can be asked is asked, without a preselection. A
// [Confirm] has none, for its yes is a person's or nobody's.
func (q Question[T]) Default(v T) Question[T] {
	if q.Err() != nil || q.spec == nil {
		return q
	}
	if q.spec.confirms {
		q.err = misuse("question %q: a Confirm has no default", q.spec.key)
		return q
	}
	value, err := form.Encode(v, q.spec.key)
	if err == nil && q.spec.kind == formKind {
		var f *form.Form
		if f, err = form.Of(q.spec.schema); err == nil {
			err = f.Check(value)
		}
	}
	if err != nil {
		q.err = misuse("question %q: its default cannot be an answer: %v", q.spec.key, err)
		return q
	}
	s := *q.spec
	s.fallback = value
	q.spec = &s
	return q
}

// Known is a question that nobody is asked: its answer is v. It lets code
// that asks take the same path when the answer is plain.
func Known[T any](v T) Question[T] { return Question[T]{known: &v} }

// Optional makes a no into an answer: a decline, a cancel, or a client that
// cannot be asked gives nil, and the call goes on.
func Optional[T any](q Question[T]) Question[*T] {
	o := Question[*T]{err: q.Err()}
	switch {
	case q.known != nil:
		o.known = &q.known
	case q.spec != nil:
		s := *q.spec
		s.lenient = true
		o.spec = &s
	}
	return o
}

// kind says which input request a question becomes.
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

// spec is a question without its Go type: what the client is sent, and what
// the state keeps until it is answered.
type spec struct {
	kind    kind
	key     string
	message string
	url     string
	schema  json.RawMessage // form: the schema as sent; sample: the params as sent
	lenient bool            // a no is an answer

	// Known only where the question is made; no state carries them.
	fallback json.RawMessage
	confirms bool // a no is an answer, and a default is not
}

// A spec is itself AnyQuestion, for the questions of linear code, whose types the
// engine has no use for.
func (s *spec) Key() string   { return s.key }
func (s *spec) Err() error    { return nil }
func (s *spec) asking() *spec { return s }

// digest pins what was asked, so that a replay notices a changed question.
func (s *spec) digest() string {
	buf := make([]byte, 0, 256)
	for _, part := range []string{string(s.kind), s.key, s.message, s.url} {
		buf = append(buf, part...)
		buf = append(buf, 0)
	}
	sum := sha256.Sum256(append(buf, s.schema...))
	var text [12]byte
	base64.RawURLEncoding.Encode(text[:], sum[:9])
	return string(text[:])
}

// request is the question as go-sdk sends it, fresh each time because the SDK
// may write to it. The note says what was wrong with the answer before.
func (s *spec) request(note string) (mcp.InputRequest, error) {
	message := s.message
	if note != "" {
		message += "\n\n" + note
	}
	switch s.kind {
	case formKind:
		return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: s.schema}, nil
	case urlKind:
		return &mcp.ElicitParams{Mode: "url", Message: message, URL: s.url}, nil
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

const maxKey = 64

// checkKey keeps keys readable on the wire, in logs and in error texts.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return misuse("key %.80q: a key has 1 to %d characters", key, maxKey)
	}
	for i := range len(key) {
		c := key[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return misuse("key %q: only letters, digits, '_', '-' and '.' are allowed", key)
		}
	}
	return nil
}
