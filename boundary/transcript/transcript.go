// Package transcript checks that every tool use in a conversation with a model is
// followed by its result, and repairs the conversation if it is not.
//
// A model's API refuses a conversation in which an assistant message uses a tool and
// the next message does not hold the result. Every further request then fails in the
// same way. [Read] reads a conversation, [Transcript.Check] finds the faults, and
// [Transcript.Repair] returns a conversation that can be sent.
//
// There are two formats, [Messages] and [Sampling]. Both put tool uses in assistant
// messages and results in the user message after them; they differ in the names of
// fields and in the content that is allowed beside a result.
//
// # Rules
//
//   - Each tool use has exactly one result, in the message directly after it,
//     which is a user message. Some APIs join neighboring messages of a role and
//     would find a result further down; others do not. The rule is the one that
//     all of them accept.
//   - No id is used by two tool uses, and each result names a tool use.
//   - Tool uses are in assistant messages, results in user messages.
//   - In a message that answers tool uses, the results come first ([Messages]), or
//     the message holds nothing else ([Sampling]).
//
// A conversation that ends with a tool use cannot be sent, whether the call is still
// running or its result was lost; the conversation does not show which. It is a
// [Missing] result with [Finding.AtEnd] set, for callers who know that the call is
// running.
package transcript

import (
	"bytes"
	"slices"
)

// Style is a format of conversations as JSON.
type Style string

const (
	// Messages is the style of the Messages API: content is a string or a list
	// of blocks, and a result has tool_use_id, content and is_error. In the
	// message that answers tool uses the results come before everything else.
	Messages Style = "messages"

	// Sampling is the style of MCP's sampling/createMessage: content is one
	// block or a list of them, and a result has toolUseId, content,
	// structuredContent and isError. The message that answers tool uses holds
	// results and nothing else.
	Sampling Style = "sampling"
)

// A Transcript is a conversation. It is never modified, so it is safe for concurrent
// use.
type Transcript struct {
	style    Style
	src      []byte
	list     span // of the messages, in src
	layout   layout
	messages []message
}

// Style returns the conversation's format.
func (t *Transcript) Style() Style { return t.style }

// Len returns the number of messages.
func (t *Transcript) Len() int { return len(t.messages) }

// Bytes returns the conversation as JSON, in its own style. A conversation that was
// not repaired is returned byte for byte. So are these parts of a repaired one: the
// bytes around the messages, every message that no repair touched, and in a touched
// message the fields beside its content and every block that was kept, except for
// the id of a renamed tool use and its result. White space between messages and
// between blocks may change.
func (t *Transcript) Bytes() []byte { return slices.Clone(t.src) }

// A message keeps its bytes, so that nothing is lost when it is written.
type message struct {
	raw     []byte
	role    string
	content span // of the content's value, in raw
	form    form
	layout  layout // of the content, if form is list
	blocks  []block
}

const (
	user      = "user"
	assistant = "assistant"
)

// form is the JSON type of a message's content.
type form int

const (
	list   form = iota // a list of blocks
	single             // one block, without a list
	text               // a string, which has no blocks
)

type block struct {
	raw  []byte
	kind blockKind
	id   string // a use's own id, or the id of the use that a result answers
	idAt span   // of the id's value, in raw
	tool string // a use's tool
}

type blockKind int

const (
	other blockKind = iota
	use
	result
)

// place is the position of a block.
type place struct{ message, block int }

// layout is the white space in a list, which keeps an indented file indented.
type layout struct{ open, separator, close []byte }

var compact = layout{open: []byte("["), separator: []byte(","), close: []byte("]")}

func (l layout) join(elements [][]byte) []byte {
	if len(elements) == 0 {
		return []byte("[]")
	}
	return slices.Concat(l.open, bytes.Join(elements, l.separator), l.close)
}
