package mrtr

import "encoding/json"

// IncompleteResult is what a guarded handler returns when it cannot finish
// yet: questions for the user, a value to carry into the next round, or both.
// The client asks, and calls the tool again from the top.
//
// On the wire it is the InputRequiredResult of revision 2026-07-28
// (resultType "input_required"); the name here is that of its drafts, which
// says what it is to the author of a handler.
type IncompleteResult struct {
	questions []AnyQuestion
	author    any
	carries   bool
}

// Need asks all the given questions in one round. Those that are [Known] are
// skipped; one that has been answered before is asked anew, and its answer
// replaced. The handler is entered again when every one has an answer.
func Need(questions ...AnyQuestion) *IncompleteResult {
	return &IncompleteResult{questions: questions}
}

// Carry hands v to the rounds that follow, where [Carried] reads it. It is
// sealed into the state as JSON, and stays until another Carry replaces it;
// Carry(nil) drops it. With no question to go with it, the client calls again at
// once.
func (r *IncompleteResult) Carry(v any) *IncompleteResult {
	r.author, r.carries = v, true
	return r
}

// Carried reads what an earlier round of this call carried. It is false in
// the first round, after Carry(nil), and where T is not what was carried.
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
