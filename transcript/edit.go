package transcript

import (
	"fmt"
	"slices"
)

// editor writes the repaired conversation.
type editor struct {
	from    *Transcript
	newIDs  map[place]string // by the place of the use, and of the result that answers it
	answers map[int][]block  // the results that belong after an assistant message, by its index
	settled map[place]bool   // results that are in the right message already
	out     *Transcript
}

func newEditor(t *Transcript, p *pairing) *editor {
	e := &editor{
		from:    t,
		newIDs:  map[place]string{},
		answers: map[int][]block{},
		settled: map[place]bool{},
		out:     &Transcript{style: t.style, before: t.before, after: t.after, layout: t.layout},
	}
	e.rename(p)
	for _, r := range p.replies {
		if r.call != nil && r.call.answer == r && r.at.message == r.call.at.message+1 && t.messages[r.at.message].role == user {
			e.settled[r.at] = true
			e.answers[r.call.at.message] = append(e.answers[r.call.at.message], e.block(r.at))
		}
	}
	for _, c := range p.calls {
		if c.answer != nil && e.settled[c.answer.at] {
			continue
		}
		answer := e.lost(c)
		if c.answer != nil {
			answer = e.block(c.answer.at)
		}
		e.answers[c.at.message] = append(e.answers[c.at.message], answer)
	}
	return e
}

// rename finds a free id for each call whose id is taken: the id, an underscore and
// a number. Two calls never get the same id, since the numbers for one id only rise
// and the last underscore separates id and number.
func (e *editor) rename(p *pairing) {
	taken := map[string]bool{}
	for _, m := range e.from.messages {
		for _, b := range m.blocks {
			taken[b.id] = true
		}
	}
	next := map[string]int{}
	for _, c := range p.calls {
		if !c.reused {
			continue
		}
		n := max(next[c.id], 2)
		for taken[fmt.Sprintf("%s_%d", c.id, n)] {
			n++
		}
		next[c.id] = n + 1
		id := fmt.Sprintf("%s_%d", c.id, n)
		e.newIDs[c.at] = id
		if c.answer != nil {
			e.newIDs[c.answer.at] = id
		}
	}
}

// edit writes message after message, with the answers in their places.
func (e *editor) edit() *Transcript {
	for i, m := range e.from.messages {
		due := e.answers[i-1]
		if i > 0 && len(due) > 0 && !e.takes(i) {
			e.add(e.newMessage(due))
			due = nil
		}
		blocks := slices.Concat(due, e.kept(i))
		switch {
		case m.form == text && len(due) == 0:
			e.add(m)
		case m.form == text:
			if content := m.content.of(m.raw); string(content) != `""` {
				blocks = append(blocks, textBlock(content))
			}
			e.add(m.with(blocks))
		case e.from.style == Sampling && len(due) > 0 && len(due) < len(blocks):
			e.add(m.with(due))
			e.add(e.newMessage(blocks[len(due):]))
		case len(blocks) > 0 || len(m.blocks) == 0:
			e.add(m.with(blocks))
		case len(e.out.messages) == 0 || e.out.messages[len(e.out.messages)-1].role != m.role:
			e.add(m.with([]block{textBlock(quote("[What stood here was out of place and has been moved or removed.]"))}))
		}
	}
	if due := e.answers[len(e.from.messages)-1]; len(due) > 0 {
		e.add(e.newMessage(due))
	}
	return e.out
}

func (e *editor) add(m message) { e.out.messages = append(e.out.messages, m) }

// takes reports whether the answers that are due before message i go into it
// rather than into a message of their own.
func (e *editor) takes(i int) bool {
	m := e.from.messages[i]
	if m.role != user || e.from.style == Messages {
		return m.role == user
	}
	return slices.ContainsFunc(e.blocksAt(i), func(at place) bool { return e.settled[at] })
}

// kept returns the blocks of message i that stay, apart from results.
func (e *editor) kept(i int) []block {
	var out []block
	for _, at := range e.blocksAt(i) {
		switch b := e.from.at(at); {
		case b.kind == other, b.kind == use && e.from.messages[i].role == assistant:
			out = append(out, e.block(at))
		}
	}
	return out
}

func (e *editor) blocksAt(i int) []place {
	places := make([]place, len(e.from.messages[i].blocks))
	for j := range places {
		places[j] = place{i, j}
	}
	return places
}

// block returns the block at a place, with its new id if it got one.
func (e *editor) block(at place) block {
	b := e.from.at(at)
	id, renamed := e.newIDs[at]
	if !renamed {
		return b
	}
	quoted := quote(id)
	b.raw = slices.Concat(b.raw[:b.idAt.start], quoted, b.raw[b.idAt.end:])
	b.idAt.end = b.idAt.start + len(quoted)
	b.id = id
	return b
}
