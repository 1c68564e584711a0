// Package transcript checks that every tool use in a conversation with a model
// is followed by its result, and mends the conversation where it is not.
//
// A model's API refuses a conversation in which an assistant message uses a
// tool and the message after it does not carry the result. Such a conversation
// is stuck: every further request repeats the fault. [Read] takes one in,
// [Transcript.Check] says what is wrong and where, and [Transcript.Repair]
// returns one that can be sent again.
//
// Two ways of writing a conversation are understood, see [Messages] and
// [Sampling]. Both put tool uses in assistant messages and results in the user
// message after; they differ in the names of fields and in what may stand
// beside a result.
//
// # What is asked of a conversation
//
//   - Each tool use has exactly one result, in the message directly after it,
//     which is a user message. Some APIs join neighbouring messages of a role
//     and would find a result further down; others do not. What is asked here is
//     what all of them take.
//   - No id is used by two tool uses, and each result names a tool use.
//   - Tool uses stand in assistant messages, results in user messages.
//   - In a message that answers tool uses, the results come first ([Messages])
//     or stand alone ([Sampling]).
//
// A conversation that ends with a tool use is one that cannot be sent, whether
// the call is still running or its result was lost, and nothing in it tells the
// two apart. It is therefore a [Missing] result like any other, with
// [Finding.AtEnd] set for callers that know their calls to be running.
package transcript

import (
	"bytes"
	"slices"
)

// Style is a way of writing a conversation as JSON.
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

// A Transcript is a conversation as it was read. It is never modified, so it
// may be used from several goroutines at once.
type Transcript struct {
	style    Style
	before   []byte // what precedes the list of messages
	after    []byte // what follows it
	list     []byte // the list as it was read; nil once a message was changed
	layout   layout
	messages []message
}

// Style returns the style the conversation is written in.
func (t *Transcript) Style() Style { return t.style }

// Len returns the number of messages.
func (t *Transcript) Len() int { return len(t.messages) }

// Bytes returns the conversation as JSON, in the style it came in. One that was
// not repaired is returned byte for byte. In a repaired one that holds for what
// surrounds the messages, for every message that no repair touched, and, in a
// touched one, for the fields beside its content and for every block that was
// kept, except the id of one that had to be renamed. Only white space between
// messages and between blocks may change.
func (t *Transcript) Bytes() []byte {
	list := t.list
	if list == nil {
		raws := make([][]byte, len(t.messages))
		for i, m := range t.messages {
			raws[i] = m.raw
		}
		list = t.layout.join(raws)
	}
	return slices.Concat(t.before, list, t.after)
}

// A message keeps its own bytes, so that writing it back loses nothing.
type message struct {
	raw     []byte
	role    string
	content span // of the content's value, in raw
	form    form
	layout  layout // of the content, where form is list
	blocks  []block
}

const (
	user      = "user"
	assistant = "assistant"
)

// form is how a message's content is written.
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

// place is where a block stands.
type place struct{ message, block int }

// layout is the white space of a list, kept so that an indented file stays one.
type layout struct{ open, separator, close []byte }

var compact = layout{open: []byte("["), separator: []byte(","), close: []byte("]")}

func (l layout) join(elements [][]byte) []byte {
	if len(elements) == 0 {
		return []byte("[]")
	}
	return slices.Concat(l.open, bytes.Join(elements, l.separator), l.close)
}
