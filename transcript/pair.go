package transcript

// call is a tool use in an assistant message.
type call struct {
	at       place
	id, tool string
	reused   bool // an earlier call has the id
	answer   *reply
}

// reply is a result, in whatever message it is.
type reply struct {
	at    place
	call  *call // the call it answers, or would answer if that had no answer; nil for an orphan
	fault Kind  // empty if it has none
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
		misplaced := t.misplaced(m)
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
					r.call.answer = r
					if misplaced(j) {
						r.fault = OutOfPlace
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
		for len(calls) > 0 && calls[0].at.precedes(r.at) {
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

// misplaced returns a function that reports whether a result at a position in the
// message is out of place because of the message's other content.
func (t *Transcript) misplaced(m message) func(int) bool {
	first := len(m.blocks)
	for i, b := range m.blocks {
		if b.kind != result {
			first = i
			break
		}
	}
	mixed := first < len(m.blocks)
	return func(i int) bool {
		if t.style == Sampling {
			return mixed
		}
		return i > first
	}
}

func (t *Transcript) at(p place) block { return t.messages[p.message].blocks[p.block] }

func (p place) precedes(q place) bool {
	return p.message < q.message || p.message == q.message && p.block < q.block
}
