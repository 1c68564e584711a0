package transcript

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Repair returns a conversation in which each tool use is followed by its result, and
// the findings that it has repaired. A conversation without any is returned as it is.
//
// A lost result is replaced by an error result, which says to the model that the call
// may or may not have taken effect. A result that is late or out of place is moved.
// Orphans, duplicate results and tool uses in user messages are dropped. A tool use
// whose id is taken gets a new one, and so does its result. A message that loses all
// its content gets a line of text, unless the message before it has the same role.
func (t *Transcript) Repair() (*Transcript, []Finding) {
	p := t.pair()
	found := t.findings(p)
	if len(found) == 0 {
		return t, nil
	}
	fixed := &Transcript{style: t.style, top: t.top}
	fixed.rebuild(t, p)
	fixed.src = encoded(fixed.messages)
	if t.top != nil {
		top := maps.Clone(t.top)
		top["messages"] = fixed.src
		fixed.src = encoded(top)
	}
	return fixed, found
}

// rename gives each call whose id is taken a free one.
func (t *Transcript) rename(p pairing) {
	taken, next := map[string]bool{}, map[string]int{}
	for _, m := range t.messages {
		for _, b := range m.blocks {
			taken[b.id] = true
		}
	}
	for _, c := range p.order {
		for old, n := c.id, max(next[c.id], 2); c.reused && taken[c.id]; n++ {
			c.id, next[old] = fmt.Sprintf("%s_%d", old, n), n+1
		}
	}
}

// answers are the results that belong after each assistant message, by its index.
func (t *Transcript) answers(p pairing) map[int][]block {
	due := map[int][]block{}
	failed := map[Style]string{Messages: "is_error", Sampling: "isError"}[t.style]
	for _, c := range p.order {
		said := textBlock(fmt.Sprintf("No result was recorded for this call of %q. It may or may not have taken effect: find out before calling again.", c.tool))
		answer := block{kind: result, fields: fields{"type": encoded(result), "content": encoded([]block{said}), failed: encoded(true)}}
		if c.answer != nil {
			answer = t.at(*c.answer)
		}
		due[c.at.message] = append(due[c.at.message], t.withID(answer, c.id))
	}
	return due
}

// rebuild takes the messages of a broken conversation, with the answers in their places.
func (t *Transcript) rebuild(from *Transcript, p pairing) {
	from.rename(p)
	answers := from.answers(p)
	add := func(m message, blocks []block) { t.messages = append(t.messages, m.with(blocks)) }
	for i, m := range from.messages {
		var kept []block
		if m.text != "" {
			kept = append(kept, textBlock(m.text))
		}
		for j, b := range m.blocks {
			if c := p.calls[place{i, j}]; b.kind == use && c != nil {
				kept = append(kept, t.withID(b, c.id))
			} else if b.kind == other {
				kept = append(kept, b)
			}
		}
		due := answers[i-1]
		if len(due) > 0 && (m.role != user || t.style == Sampling && len(kept) > 0) {
			add(message{role: user}, due)
			due = nil
		}
		switch {
		case len(due) == 0 && len(m.blocks) == 0:
			t.messages = append(t.messages, m)
		case len(due)+len(kept) > 0:
			add(m, append(due, kept...))
		case len(t.messages) == 0 || t.messages[len(t.messages)-1].role != m.role:
			add(m, []block{textBlock("[What stood here was out of place and has been moved or removed.]")})
		}
	}
	if due := answers[len(from.messages)-1]; len(due) > 0 {
		add(message{role: user}, due)
	}
}

func textBlock(s string) block {
	return block{fields: fields{"type": encoded("text"), "text": encoded(s)}}
}

// withID returns the block with another id.
func (t *Transcript) withID(b block, id string) block {
	b.id, b.fields = id, maps.Clone(b.fields)
	b.fields[t.idField(b)] = encoded(id)
	return b
}

// with returns the message with other content.
func (m message) with(blocks []block) message {
	all := fields{"role": encoded(m.role)}
	maps.Copy(all, m.fields)
	all["content"] = encoded(blocks)
	return message{fields: all, role: m.role, blocks: blocks}
}

// encoded is a value that always encodes: text, and JSON that was read.
func encoded(value any) json.RawMessage {
	raw, _ := json.Marshal(value)
	return raw
}
