package mrtr

import "encoding/json"

// A call may begin in one version of its handler and go on in another: after a
// deployment, or between two instances while one is under way. The version is that of
// HandlerOptions, and else of the build. docs/deploys.md tells which changes a call
// survives.

// changed reports whether some round of this call was served by another version than
// this one's.
func (c *Call) changed() bool { return c.st.version != c.target.version || c.st.sealed != "" }

// deployed reports whether the round before was: its questions are that version's.
func (c *Call) deployed() bool {
	last := c.st.sealed
	if last == "" {
		last = c.st.version
	}
	return last != c.target.version
}

// stands reports whether an answer counts for the question that a guarded handler asks
// today. An answer that has just come to a question of other words, sent by another
// version, does not count; an earlier one does, unless its choice is no longer offered. Steps
// and journals judge that where they come past. The caller holds c.mu.
func (c *Call) stands(e *entry, q *spec) bool {
	if !c.changed() || c.linear != nil || c.inSteps || e.wording() == q.digest() {
		return true
	}
	if e.fresh {
		return !c.deployed()
	}
	return q.form == nil || isOutcome(e.value) || q.form.Check(e.value) == nil
}

// mayGoBack reports whether the call can go back to the answer at an index of its
// history: the code is another version's, and the call has done nothing since. The
// caller holds c.mu.
func (c *Call) mayGoBack(to int) bool {
	if !c.changed() {
		return false
	}
	for i := to; i < len(c.st.done); i++ {
		if c.st.done[i].kind.isAttempt() {
			return false
		}
	}
	return true
}

// goBack takes the call back to where it asked these questions, the first of which was
// answered at an index of its history. Answers that are still to the point are kept
// for when they are asked now. The caller holds c.mu.
func (c *Call) goBack(to int, questions []*spec) {
	c.keptAnswers = map[string]json.RawMessage{}
	for _, q := range questions {
		if e := c.st.answer(q.key); e != nil && e.wording() == q.digest() {
			c.keptAnswers[q.key] = e.value
		}
	}
	c.st.forgetAnswersFrom(to)
}

// takeKept is the answer that was kept for a question, nil where there is none.
func (c *Call) takeKept(key string) json.RawMessage {
	value := c.keptAnswers[key]
	delete(c.keptAnswers, key)
	return value
}
