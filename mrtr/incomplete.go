package mrtr

import "encoding/json"

// IncompleteResult is the result of a guarded handler that cannot finish yet:
// questions for the user, a value to carry into the next round, or both. The
// client asks, and calls the tool again from the top.
//
// On the wire it is the InputRequiredResult of revision 2026-07-28 (resultType
// "input_required"). The name here is that of the revision's drafts.
type IncompleteResult struct {
	questions []AnyQuestion
	one       [1]AnyQuestion // where most results have their questions
	author    any
	carries   bool
}

// Need asks all the given questions in one round. Those that are [Known] are
// skipped; one that has been answered before is asked anew, and its answer
// replaced. The handler is entered again when every question has an answer.
func Need(questions ...AnyQuestion) *IncompleteResult {
	r := &IncompleteResult{}
	r.questions = append(r.one[:0], questions...)
	return r
}

// Carry hands v to the rounds that follow, where [Carried] reads it. It is
// sealed into the state as JSON, and stays until another Carry replaces it;
// Carry(nil) drops it. Without a question the client calls again at once, which a
// call may do twice.
func (r *IncompleteResult) Carry(v any) *IncompleteResult {
	r.author, r.carries = v, true
	return r
}

// Carried reads the value that an earlier round of this call carried. It is false
// in the first round, after Carry(nil), and where T is another type.
func Carried[T any](c *Call) (v T, ok bool) {
	c.mu.Lock()
	author := c.st.author
	c.mu.Unlock()
	if isNull(author) || json.Unmarshal(author, &v) != nil {
		var none T
		return none, false
	}
	return v, true
}

// take makes the handler's questions pending, and settles at once those that this
// client cannot be asked. It reports whether that answered everything.
func (c *Call) take(need *IncompleteResult) (answered bool, _ error) {
	var few [fewQuestions]*spec
	specs, err := specsOf(few[:0], need.questions)
	if err != nil {
		return false, err
	}
	if need.carries {
		author, err := json.Marshal(need.author)
		if err != nil {
			return false, misuse("the carried value cannot be encoded: %v", err)
		}
		c.st.carry(author)
	} else if len(specs) == 0 {
		return false, misuse("an incomplete result that asks nothing and carries nothing")
	}
	if limit := c.rt.opts.MaxQuestions; len(specs) > limit {
		return false, limitExceeded(limit, "questions in one round")
	}
	if err := c.unread(specs); err != nil {
		return false, err
	}
	c.st.open(specs)
	for i, s := range specs {
		if kept := c.takeKept(s.key); kept != nil {
			c.st.pending[i].settle(kept)
			continue
		}
		standIn, err := c.gate(s)
		if err != nil {
			return false, err
		}
		c.st.pending[i].settle(standIn)
	}
	return len(specs) > 0 && c.file(), nil
}

// unread returns an error for a question that was just answered and is asked again,
// where the handler read none of the answers that it asks for again. Its guard then
// looks under another key, and would ask until the call has too many rounds.
func (c *Call) unread(specs []*spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := ""
	for _, sp := range specs {
		switch e := c.st.answer(sp.key); {
		case e == nil || !e.fresh:
		case e.read:
			return nil
		case key == "":
			key = sp.key
		}
	}
	if key == "" {
		return nil
	}
	return misuse("question %q was just answered and is asked again, but the handler did not read its answer: does it read another key?", key)
}
