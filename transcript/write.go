package transcript

import (
	"fmt"
	"slices"
)

// with returns the message with other blocks, or unchanged if they are its own.
func (m message) with(blocks []block) message {
	if slices.EqualFunc(m.blocks, blocks, func(a, b block) bool { return &a.raw[0] == &b.raw[0] }) {
		return m
	}
	var content []byte
	switch {
	case m.form == single && len(blocks) == 1:
		content = blocks[0].raw
	case m.form == list && len(m.blocks) > 0:
		content = m.layout.join(raws(blocks))
	default:
		m.form, m.layout = list, compact
		content = compact.join(raws(blocks))
	}
	m.raw = slices.Concat(m.raw[:m.content.start], content, m.raw[m.content.end:])
	m.content.end = m.content.start + len(content)
	m.blocks = blocks
	return m
}

func raws(blocks []block) [][]byte {
	out := make([][]byte, len(blocks))
	for i, b := range blocks {
		out[i] = b.raw
	}
	return out
}

// newMessage returns a user message with those blocks.
func (e *editor) newMessage(blocks []block) message {
	const head, tail = `{"role":"user","content":`, `}`
	content := compact.join(raws(blocks))
	return message{
		raw:     slices.Concat([]byte(head), content, []byte(tail)),
		role:    user,
		content: span{len(head), len(head) + len(content)},
		form:    list,
		layout:  compact,
		blocks:  blocks,
	}
}

func textBlock(quoted []byte) block {
	return block{raw: slices.Concat([]byte(`{"type":"text","text":`), quoted, []byte(`}`)), kind: other}
}

// lost returns the error result for a call without a recorded result. The id keeps
// the call's spelling.
func (e *editor) lost(c *call) block {
	said := "No result was recorded for this call"
	if c.tool != "" {
		said += fmt.Sprintf(" of %q", c.tool)
	}
	words := quote(said + ". It may or may not have taken effect: find out before calling again.")
	asked := e.block(c.at)
	head, tail := `{"type":"tool_result","tool_use_id":`, fmt.Sprintf(`,"content":%s,"is_error":true}`, words)
	if e.from.style == Sampling {
		head = `{"type":"tool_result","toolUseId":`
		tail = fmt.Sprintf(`,"content":[{"type":"text","text":%s}],"isError":true}`, words)
	}
	id := asked.idAt.of(asked.raw)
	return block{
		raw:  slices.Concat([]byte(head), id, []byte(tail)),
		kind: result,
		id:   asked.id,
		idAt: span{len(head), len(head) + len(id)},
	}
}
