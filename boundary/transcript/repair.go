package transcript

import (
	"fmt"
	"slices"
)

// Action is the kind of a repair.
type Action string

const (
	Added   Action = "added"   // an error result, for a tool use that had none
	Moved   Action = "moved"   // a result to its place, or the content before it away from there
	Dropped Action = "dropped" // a block that has no place in the conversation
	Renamed Action = "renamed" // a tool use, together with its result
)

// A Repair is the change made for one finding.
type Repair struct {
	Finding Finding
	Action  Action
	NewID   string // the new id, if Action is Renamed
}

// String returns the repair as one line.
func (r Repair) String() string {
	at := place{r.Finding.Message, r.Finding.Block}
	switch {
	case r.Action == Added:
		return fmt.Sprintf("%s: added an error result for %q", at, r.Finding.ID)
	case r.Action == Moved:
		return fmt.Sprintf("%s: put the result of %q where it belongs", at, r.Finding.ID)
	case r.Action == Renamed:
		return fmt.Sprintf("%s: renamed %q to %q", at, r.Finding.ID, r.NewID)
	case r.Finding.Kind == OutOfPlace:
		return fmt.Sprintf("%s: dropped the tool use %q", at, r.Finding.ID)
	default:
		return fmt.Sprintf("%s: dropped the %s result of %q", at, r.Finding.Kind, r.Finding.ID)
	}
}

// Repair returns a conversation in which each tool use is followed by its result,
// and one Repair for each finding of [Transcript.Check], in their order. A
// conversation without faults is returned as it is.
//
// A tool use without a result gets an error result, which says to the model that the
// call may or may not have taken effect. A result that is late or out of place is
// moved. Orphans, duplicate results and tool uses in user messages are dropped. A
// tool use with an id that was used before gets a new id, and so does its result.
//
// A message that is left without content is dropped if the one before it has the
// same role. Otherwise dropping it would bring two messages of a role together, or
// make an assistant message the first; it gets a line of text as its content.
//
// Nothing else is checked. The repaired conversation may be larger than [MaxBytes]
// if the original was close to it.
func (t *Transcript) Repair() (fixed *Transcript, repairs []Repair) {
	paired := t.pair()
	found := t.findings(paired)
	if len(found) == 0 {
		return t, nil
	}
	e := newEditor(t, paired)
	for _, f := range found {
		repairs = append(repairs, e.repairOf(f))
	}
	return e.edit(), repairs
}

func (e *editor) repairOf(f Finding) Repair {
	b := e.from.at(place{f.Message, f.Block})
	r := Repair{Finding: f}
	switch {
	case f.Kind == Missing:
		r.Action = Added
	case f.Kind == Duplicate && b.kind == use:
		r.Action, r.NewID = Renamed, e.newIDs[place{f.Message, f.Block}]
	case f.Kind == Late, f.Kind == OutOfPlace && b.kind == result:
		r.Action = Moved
	default:
		r.Action = Dropped
	}
	return r
}

// editor writes the repaired conversation, from the bytes of the broken one.
type editor struct {
	from     *Transcript
	newIDs   map[place]string // by the place of the use, and of the result that answers it
	answers  map[int][][]byte // the results that belong after an assistant message, by its index
	settled  map[int]bool     // messages that hold a result in its place
	messages [][]byte         // written so far
	last     string           // the role of the last one
}

func newEditor(t *Transcript, p *pairing) *editor {
	e := &editor{from: t, newIDs: map[place]string{}, answers: map[int][][]byte{}, settled: map[int]bool{}}
	e.rename(p)
	for _, r := range p.replies {
		if r.settled {
			e.settled[r.at.message] = true
			e.answers[r.call.at.message] = append(e.answers[r.call.at.message], e.block(r.at))
		}
	}
	for _, c := range p.calls {
		switch a := c.answer; {
		case a == nil:
			e.answers[c.at.message] = append(e.answers[c.at.message], e.lost(c))
		case !a.settled:
			e.answers[c.at.message] = append(e.answers[c.at.message], e.block(a.at))
		}
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
		if takes := m.role == user && (e.from.style == Messages || e.settled[i]); len(due) > 0 && !takes {
			e.addAnswers(due)
			due = nil
		}
		blocks := slices.Concat(due, e.kept(i))
		switch {
		case m.form == text && len(due) == 0:
			e.add(m.role, m.raw)
		case m.form == text:
			if content := m.content.of(m.raw); string(content) != `""` {
				blocks = append(blocks, textBlock(content))
			}
			e.add(m.role, m.with(blocks))
		case e.from.style == Sampling && len(due) > 0 && len(due) < len(blocks):
			e.add(m.role, m.with(due))
			e.addAnswers(blocks[len(due):])
		case len(blocks) > 0 || len(m.blocks) == 0:
			e.add(m.role, m.with(blocks))
		case e.last != m.role:
			e.add(m.role, m.with([][]byte{textBlock(quote("[What stood here was out of place and has been moved or removed.]"))}))
		}
	}
	if due := e.answers[len(e.from.messages)-1]; len(due) > 0 {
		e.addAnswers(due)
	}
	t := e.from
	p := parser{src: slices.Concat(t.src[:t.list.start], t.layout.join(e.messages), t.src[t.list.end:]), style: t.style}
	fixed, err := p.transcript()
	if err != nil {
		panic(err) // it is made of values that were read
	}
	return fixed
}

func (e *editor) add(role string, message []byte) {
	e.messages, e.last = append(e.messages, message), role
}

// addAnswers adds a user message with these blocks.
func (e *editor) addAnswers(blocks [][]byte) {
	e.add(user, slices.Concat([]byte(`{"role":"user","content":`), compact.join(blocks), []byte(`}`)))
}

// kept returns the blocks of message i that stay, apart from results.
func (e *editor) kept(i int) [][]byte {
	var out [][]byte
	m := e.from.messages[i]
	for j, b := range m.blocks {
		if b.kind == other || b.kind == use && m.role == assistant {
			out = append(out, e.block(place{i, j}))
		}
	}
	return out
}

// block returns the block at a place, with its new id if it got one.
func (e *editor) block(at place) []byte {
	b := e.from.at(at)
	if _, renamed := e.newIDs[at]; !renamed {
		return b.raw
	}
	return slices.Concat(b.raw[:b.idAt.start], e.id(at), b.raw[b.idAt.end:])
}

// id returns the id of the block at a place as JSON. An id that stays keeps its
// spelling.
func (e *editor) id(at place) []byte {
	if id, renamed := e.newIDs[at]; renamed {
		return quote(id)
	}
	b := e.from.at(at)
	return b.idAt.of(b.raw)
}

// with returns the message with other blocks, or unchanged if they are its own.
func (m message) with(blocks [][]byte) []byte {
	if slices.EqualFunc(m.blocks, blocks, func(a block, b []byte) bool { return &a.raw[0] == &b[0] }) {
		return m.raw
	}
	var content []byte
	switch {
	case m.form == single && len(blocks) == 1:
		content = blocks[0]
	case m.form == list && len(m.blocks) > 0:
		content = m.layout.join(blocks)
	default:
		content = compact.join(blocks)
	}
	return slices.Concat(m.raw[:m.content.start], content, m.raw[m.content.end:])
}

func textBlock(quoted []byte) []byte {
	return slices.Concat([]byte(`{"type":"text","text":`), quoted, []byte(`}`))
}

// lost returns the error result for a call without a recorded result.
func (e *editor) lost(c *call) []byte {
	said := "No result was recorded for this call"
	if c.tool != "" {
		said += fmt.Sprintf(" of %q", c.tool)
	}
	words := quote(said + ". It may or may not have taken effect: find out before calling again.")
	if e.from.style == Sampling {
		return fmt.Appendf(nil, `{"type":"tool_result","toolUseId":%s,"content":[{"type":"text","text":%s}],"isError":true}`, e.id(c.at), words)
	}
	return fmt.Appendf(nil, `{"type":"tool_result","tool_use_id":%s,"content":%s,"is_error":true}`, e.id(c.at), words)
}
