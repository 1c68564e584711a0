package transcript

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind is the kind of a fault.
type Kind string

const (
	// Missing is a tool use that no result answers.
	Missing Kind = "missing"
	// Orphan is a result that answers no tool use before it.
	Orphan Kind = "orphan"
	// Duplicate is a result for a tool use that has one already, or a tool use
	// whose id an earlier one has.
	Duplicate Kind = "duplicate"
	// Late is a result in a user message further down than the one directly
	// after its tool use.
	Late Kind = "late"
	// OutOfPlace is a tool use in a user message, a result in an assistant
	// message, or a result in the right message that other content precedes
	// ([Messages]) or accompanies ([Sampling]).
	OutOfPlace Kind = "out-of-place"
)

// A Finding is one fault. A tool use can have two: an id that was used before,
// and no result.
type Finding struct {
	Kind           Kind
	Message, Block int    // position of the faulty block, counted from 0
	ID             string // of the tool use
	Tool           string // its name, empty for an orphan
	AtEnd          bool   // of a Missing result: no message follows, so the call may still be running
	Text           string // describes the fault and its remedy
}

// String returns the finding as one line: its position, kind and text.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", place{f.Message, f.Block}, f.Kind, f.Text)
}

func (p place) String() string {
	return fmt.Sprintf("messages[%d].content[%d]", p.message, p.block)
}

// Check returns the faults of the conversation in its order, or nil if each tool use
// is followed by its result.
func (t *Transcript) Check() []Finding {
	return t.findings(t.pair())
}

func (t *Transcript) findings(p *pairing) []Finding {
	var found []Finding
	for _, c := range p.calls {
		if c.reused {
			found = append(found, finding(Duplicate, c.at, c.id, c.tool,
				"the id of this tool use belongs to an earlier one. Give it an id of its own, and its result the same."))
		}
		if c.answer == nil {
			f := finding(Missing, c.at, c.id, c.tool,
				"this tool use has no result. Put one into the user message directly after it; if it was lost, an error result.")
			if f.AtEnd = c.at.message == len(t.messages)-1; f.AtEnd {
				f.Text = about(c.id, c.tool) + "this tool use has no result and the conversation ends here. If the call is still running, wait for it; if not, add a user message with an error result."
			}
			found = append(found, f)
		}
	}
	for _, r := range p.replies {
		if r.fault != "" {
			found = append(found, t.faulty(r))
		}
	}
	for _, at := range p.strays {
		b := t.at(at)
		found = append(found, finding(OutOfPlace, at, b.id, b.tool,
			"this tool use stands in a user message. Only the assistant uses tools: remove it, or correct the role."))
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return place{a.Message, a.Block}.compare(place{b.Message, b.Block})
	})
	return found
}

// faulty describes the fault of a result.
func (t *Transcript) faulty(r *reply) Finding {
	id, tool := t.at(r.at).id, ""
	if r.call != nil {
		tool = r.call.tool
	}
	var text string
	switch {
	case r.fault == Orphan:
		text = "this result answers no tool use before it. Remove it, or restore the assistant message that it answers."
	case r.fault == Duplicate:
		text = fmt.Sprintf("the tool use at %s has its result already. Remove this one.", r.call.at)
	case r.fault == Late:
		text = fmt.Sprintf("the tool use at %s must have this result in the message directly after it, a user message. Move it there.", r.call.at)
	case t.messages[r.at.message].role == assistant:
		text = fmt.Sprintf("this result stands in an assistant message. Move it to the user message directly after the tool use at %s.", r.call.at)
	case t.style == Sampling:
		text = "the message that answers tool uses may hold results alone. Move what is not a result to a message after it."
	default:
		text = "in the message that answers tool uses the results come first. Move what is not a result behind the last of them."
	}
	return finding(r.fault, r.at, id, tool, text)
}

func finding(kind Kind, at place, id, tool, text string) Finding {
	return Finding{Kind: kind, Message: at.message, Block: at.block, ID: id, Tool: tool, Text: about(id, tool) + text}
}

// about names the call at the beginning of a sentence.
func about(id, tool string) string {
	if tool == "" {
		return fmt.Sprintf("id %q: ", id)
	}
	return fmt.Sprintf("tool %q, id %q: ", tool, id)
}

// call is a tool use in an assistant message.
type call struct {
	at       place
	id, tool string
	reused   bool // an earlier call has the id
	answer   *reply
}

// reply is a result, in whatever message it is.
type reply struct {
	at      place
	call    *call // the call it answers, or would answer if that had no answer; nil for an orphan
	settled bool  // it answers call, and is in the message directly after it
	fault   Kind  // empty if it has none
}

// pairing says which result answers which call.
type pairing struct {
	calls   []*call
	replies []*reply
	strays  []place // tool uses in user messages, which are no calls
}

// pair matches results to calls. A result in the right message comes first; each
// other one answers the nearest earlier call of its id that has no answer yet. The
// time is proportional to the number of blocks, however often an id recurs.
func (t *Transcript) pair() *pairing {
	p := &pairing{}
	p.inPlace(t)
	p.elsewhere(t)
	return p
}

// inPlace collects calls and results, and matches those in neighboring messages.
func (p *pairing) inPlace(t *Transcript) {
	seen := map[string]bool{}
	var before map[string][]*call // the unanswered calls of the message before
	for i, m := range t.messages {
		here := map[string][]*call{}
		first := slices.IndexFunc(m.blocks, func(b block) bool { return b.kind != result })
		for j, b := range m.blocks {
			at := place{i, j}
			switch {
			case b.kind == use && m.role == assistant:
				c := &call{at: at, id: b.id, tool: b.tool, reused: seen[b.id]}
				seen[b.id] = true
				p.calls = append(p.calls, c)
				here[b.id] = append(here[b.id], c)
			case b.kind == use:
				p.strays = append(p.strays, at)
			case b.kind == result:
				r := &reply{at: at}
				p.replies = append(p.replies, r)
				if waiting := before[b.id]; m.role == user && len(waiting) > 0 {
					r.call, before[b.id] = waiting[0], waiting[1:]
					r.call.answer, r.settled = r, true
					if first >= 0 && (t.style == Sampling || first < j) {
						r.fault = OutOfPlace // because of the message's other content
					}
				}
			}
		}
		before = here
	}
}

// elsewhere matches the remaining results, in the order of the conversation.
func (p *pairing) elsewhere(t *Transcript) {
	open := map[string][]*call{}
	known := map[string]*call{}
	calls := p.calls
	for _, r := range p.replies {
		for len(calls) > 0 && calls[0].at.compare(r.at) < 0 {
			c := calls[0]
			calls = calls[1:]
			known[c.id] = c
			if c.answer == nil {
				open[c.id] = append(open[c.id], c)
			}
		}
		if r.call != nil {
			continue
		}
		id := t.at(r.at).id
		waiting := open[id]
		if len(waiting) == 0 {
			r.call, r.fault = known[id], Duplicate
			if r.call == nil {
				r.fault = Orphan
			}
			continue
		}
		last := len(waiting) - 1
		r.call, open[id] = waiting[last], waiting[:last]
		r.call.answer = r
		r.fault = Late
		if t.messages[r.at.message].role == assistant {
			r.fault = OutOfPlace
		}
	}
}

func (t *Transcript) at(p place) block { return t.messages[p.message].blocks[p.block] }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.message, q.message), cmp.Compare(p.block, q.block))
}
