// Package transcript checks that every tool use in a conversation with a model is
// followed by its result, and repairs the conversation if it is not.
//
// A model's API refuses a conversation in which an assistant message uses a tool and
// the next message does not hold the result, and refuses every further request with it.
//
// The rules: each tool use of an assistant message has exactly one result, in the user
// message directly after it. (Some APIs join neighboring messages of a role; all of them
// accept this rule.) No id is used twice, and each result names a tool use. In their
// message the results come first ([Messages]), or are alone ([Sampling]).
package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// Style is a format of conversations as JSON.
type Style string

const (
	Messages Style = "messages" // of the Messages API: a result has tool_use_id and is_error
	Sampling Style = "sampling" // of MCP's sampling/createMessage: a result has toolUseId and isError
)

// A Transcript is a conversation. It is never modified, so it is safe for concurrent use.
type Transcript struct {
	style    Style
	src      []byte
	top      fields // around the messages; nil if they stand alone
	messages []message
}

// Style returns the conversation's format.
func (t *Transcript) Style() Style { return t.style }

// Len returns the number of messages.
func (t *Transcript) Len() int { return len(t.messages) }

// Bytes returns the conversation as it was read, or encoded anew if it was repaired.
func (t *Transcript) Bytes() []byte { return slices.Clone(t.src) }

// fields are the members of a JSON object.
type fields map[string]json.RawMessage

func (m message) MarshalJSON() ([]byte, error) { return json.Marshal(m.fields) }
func (b block) MarshalJSON() ([]byte, error)   { return json.Marshal(b.fields) }

type message struct {
	fields fields
	role   string
	text   string  // its content, if that is a string
	blocks []block // or these
}

type block struct {
	fields fields
	kind   string // use, result, or other
	id     string // a use's own id, or the id of the use that a result answers
	tool   string // a use's tool
}

const (
	user, assistant    = "user", "assistant"
	use, result, other = "tool_use", "tool_result", ""
)

// MaxBytes is the size of the largest conversation that [Read] accepts.
const MaxBytes = 32 << 20

// An Error is the reason why the input is not a conversation.
type Error struct{ Problem string } // begins with its place, such as messages[3].content[0]

func (e *Error) Error() string { return "transcript: " + e.Problem }

func fail(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Read reads a conversation: a JSON array of messages, or an object with such an
// array under "messages". A conversation with a field toolUseId or maxTokens is read
// as [Sampling], and any other as [Messages]; use [ReadAs] if the style is known.
//
// Any other input is an [*Error]: invalid JSON, another role than user and assistant,
// a tool use or result without its id, a field given twice, more than [MaxBytes].
func Read(r io.Reader) (*Transcript, error) { return ReadAs(r, "") }

// ReadAs is [Read] for a known style.
func ReadAs(r io.Reader, style Style) (*Transcript, error) {
	src, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("transcript: reading: %w", err)
	}
	if len(src) > MaxBytes {
		return nil, fail("the conversation is larger than %d bytes", MaxBytes)
	}
	var list json.RawMessage
	if err := json.Unmarshal(src, &list); err != nil {
		return nil, fail("%v", err)
	}
	// JSON readers differ on which value counts.
	if name, twice := jsontext.Walk(src, jsontext.MaxDepth).Repeated(); twice {
		return nil, fail("the field %q is given twice", name)
	}
	if style == "" && (bytes.Contains(src, []byte(`"toolUseId"`)) || bytes.Contains(src, []byte(`"maxTokens"`))) {
		style = Sampling
	}
	t := &Transcript{style: cmp.Or(style, Messages), src: src}
	if list[0] == '{' {
		if t.top, err = readFields(list, ""); err != nil {
			return nil, err
		}
		list = t.top["messages"]
	}
	var messages []json.RawMessage
	if json.Unmarshal(list, &messages) != nil || messages == nil {
		return nil, fail(`a conversation is an array of messages, or an object with such an array under "messages"`)
	}
	for i, raw := range messages {
		m, err := t.message(raw, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		t.messages = append(t.messages, m)
	}
	return t, nil
}

func (t *Transcript) message(raw json.RawMessage, path string) (m message, err error) {
	if m.fields, err = readFields(raw, path); err != nil {
		return m, err
	}
	if m.role, _ = m.fields.text("role", path); m.role != user && m.role != assistant {
		return m, fail("%s: the role %q is neither %q nor %q", path, m.role, user, assistant)
	}
	content := m.fields["content"]
	var blocks []json.RawMessage
	switch path += ".content"; {
	case json.Unmarshal(content, &blocks) == nil && blocks != nil:
	case bytes.HasPrefix(content, []byte{'"'}):
		m.text, err = m.fields.text("content", path)
	case bytes.HasPrefix(content, []byte{'{'}):
		blocks = []json.RawMessage{content}
	default:
		err = fail("%s: content is a string, a block or a list of blocks", path)
	}
	for i := 0; i < len(blocks) && err == nil; i++ {
		var b block
		b, err = t.block(blocks[i], fmt.Sprintf("%s[%d]", path, i))
		m.blocks = append(m.blocks, b)
	}
	return m, err
}

func (t *Transcript) block(raw json.RawMessage, path string) (b block, err error) {
	if b.fields, err = readFields(raw, path); err != nil {
		return b, err
	}
	if b.kind, err = b.fields.text("type", path); err != nil || b.kind != use && b.kind != result {
		return block{fields: b.fields}, err
	}
	b.tool, _ = b.fields.text("name", path) // only for people to read
	b.id, err = b.fields.text(t.idField(b), path)
	return b, err
}

// idField names the field with a block's id.
func (t *Transcript) idField(b block) string {
	if b.kind == use {
		return "id"
	}
	return map[Style]string{Messages: "tool_use_id", Sampling: "toolUseId"}[t.style]
}

func readFields(raw json.RawMessage, path string) (f fields, err error) {
	if json.Unmarshal(raw, &f) != nil || f == nil {
		return nil, fail("%s: not an object", path)
	}
	return f, nil
}

// text returns the string that a field must hold.
func (f fields) text(name, path string) (s string, err error) {
	if !bytes.HasPrefix(f[name], []byte{'"'}) || json.Unmarshal(f[name], &s) != nil {
		err = fail("%s: no string %q", path, name)
	}
	return s, err
}
