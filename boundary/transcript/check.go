package transcript

import (
	"fmt"
	"slices"
)

// Kind is the kind of a fault.
type Kind string

const (
	Missing   Kind = "missing"   // a tool use that no result answers
	Orphan    Kind = "orphan"    // a result that answers no tool use before it
	Duplicate Kind = "duplicate" // a second result for a tool use, or a tool use with an id that an earlier one has
	Late      Kind = "late"      // a result in a user message further down than the one directly after its tool use
	// OutOfPlace is a tool use in a user message, a result in an assistant
	// message, or a result in the right message that other content precedes
	// ([Messages]) or accompanies ([Sampling]).
	OutOfPlace Kind = "out-of-place"
)

// A Finding is one fault. A tool use can have two: a used id, and no result.
type Finding struct {
	Kind           Kind
	Message, Block int    // position of the faulty block, counted from 0
	ID             string // of the tool use
	Tool           string // its name, empty for an orphan
	AtEnd          bool   // of a Missing result: no message follows, and the call may still be running
	Text           string // describes the fault and its remedy
}

// String returns the finding as one line: its position, kind and text.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", place{f.Message, f.Block}, f.Kind, f.Text)
}

// Check returns the faults in the order of the conversation.
func (t *Transcript) Check() []Finding { return t.findings(t.pair()) }

func (t *Transcript) findings(p pairing) (found []Finding) {
	for i, m := range t.messages {
		for j, b := range m.blocks {
			c, add := p.calls[place{i, j}], func(kind Kind, tool, text string) {
				found = append(found, Finding{Kind: kind, Message: i, Block: j, ID: b.id, Tool: tool, Text: fmt.Sprintf("tool %q, id %q: %s", tool, b.id, text)})
			}
			switch fault := p.faults[place{i, j}]; {
			case b.kind == use && c == nil:
				add(OutOfPlace, b.tool, "this tool use stands in a user message. Only the assistant uses tools: remove it, or correct the role.")
			case b.kind == use:
				if c.reused {
					add(Duplicate, b.tool, "the id of this tool use belongs to an earlier one. Give it an id of its own, and its result the same.")
				}
				if c.answer == nil {
					add(Missing, b.tool, "this tool use has no result. Put one into the user message directly after it; if it was lost, an error result.")
					found[len(found)-1].AtEnd = i == len(t.messages)-1
				}
			case fault == Orphan:
				add(Orphan, "", "this result answers no tool use before it. Remove it, or restore the assistant message that it answers.")
			case fault == Duplicate:
				add(Duplicate, c.tool, fmt.Sprintf("the tool use at %s has its result already. Remove this one.", c.at))
			case fault != "":
				add(fault, c.tool, fmt.Sprintf("the results of %s come first in the user message directly after it, or stand there alone in the sampling style. Move this result, or what is in its way.", c.at))
			}
		}
	}
	return found
}

// place is the position of a block.
type place struct{ message, block int }

func (p place) String() string { return fmt.Sprintf("messages[%d].content[%d]", p.message, p.block) }

type call struct { // a tool use in an assistant message
	at       place
	id, tool string
	reused   bool   // an earlier call has the id
	answer   *place // of its result
}

// pairing says which result answers which call.
type pairing struct {
	order  []*call
	calls  map[place]*call // by the place of the use, and of each result: the call it answers, or would answer
	faults map[place]Kind  // of results
}

// pair matches results to calls. A result in the right message comes first; each
// other one answers the nearest earlier call of its id that has no answer yet. The
// time is proportional to the number of blocks, however often an id recurs.
func (t *Transcript) pair() pairing {
	p := pairing{calls: map[place]*call{}, faults: map[place]Kind{}}
	known := map[string]*call{}         // the latest of an id
	open := map[string][]*call{}        // those that may have no answer, the latest last
	var here, before map[string][]*call // those of this message, and of the one before
	for i, m := range t.messages {
		here, before = map[string][]*call{}, here
		first := slices.IndexFunc(m.blocks, func(b block) bool { return b.kind != result })
		for j, b := range m.blocks {
			at := place{i, j}
			switch {
			case b.kind == use && m.role == assistant:
				c := &call{at: at, id: b.id, tool: b.tool, reused: known[b.id] != nil}
				p.order, p.calls[at], known[b.id] = append(p.order, c), c, c
				open[b.id], here[b.id] = append(open[b.id], c), append(here[b.id], c)
			case b.kind == result && m.role == user && len(before[b.id]) > 0:
				c := before[b.id][0]
				before[b.id], p.calls[at] = before[b.id][1:], c
				if first >= 0 && (t.style == Sampling || first < j) {
					p.faults[at] = OutOfPlace // because of the message's other content
				}
				if c.answer != nil {
					p.faults[*c.answer] = Duplicate // it stands beside its call
				}
				c.answer = &at
			case b.kind == result:
				for n := len(open[b.id]); n > 0 && p.calls[at] == nil; n-- {
					if c := open[b.id][n-1]; c.answer == nil {
						c.answer, p.calls[at], p.faults[at] = &at, c, map[string]Kind{user: Late, assistant: OutOfPlace}[m.role]
					}
					open[b.id] = open[b.id][:n-1]
				}
				if p.calls[at] == nil {
					p.calls[at], p.faults[at] = known[b.id], Duplicate
				}
				if known[b.id] == nil {
					p.faults[at] = Orphan
				}
			}
		}
	}
	return p
}

func (t *Transcript) at(p place) block { return t.messages[p.message].blocks[p.block] }
