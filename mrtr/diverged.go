package mrtr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// An effect stands on the answers that its call had when it was made. Where one of them
// changes, the call ends with Diverged: whatever the handler went on to say, such as "nothing
// was charged", would be false. Journals and lists of steps hold their questions against
// the history as they come past them. A guarded handler runs from its top, and has three
// signs: a question in other words under an effect, an answer that was replaced under one,
// and an effect that the handler no longer comes to.

// answersHold returns an error where an effect stands on an answer that the answers of
// this round replace. The caller holds l.mu.
func (l *ledger) answersHold() error {
	for i := range l.st.pending {
		p := &l.st.pending[i]
		if e := l.st.done.answer(p.key); e != nil && !p.repeats(e) && l.st.done.hasEffectOn(p.key) {
			return l.diverged("question %q is answered otherwise than before", p.key)
		}
	}
	return nil
}

// questionsHold returns an error where a guarded handler asks above an effect that
// happened: again, in other words than the effect stands on, or without having come to it.
// The caller holds c.mu.
func (c *Call) questionsHold(specs []*spec) error {
	if !c.guarded() || len(specs) == 0 {
		return nil
	}
	for _, sp := range specs {
		if e := c.st.done.answer(sp.key); e != nil && e.wording() != sp.digest() && c.st.done.hasEffectOn(sp.key) {
			return c.notWorded(sp.key)
		}
	}
	return c.unmet()
}

// effectsHold returns an error where a guarded handler completes without having come to
// an effect that happened.
func (c *Call) effectsHold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.guarded() {
		return nil
	}
	return c.unmet()
}

func (c *Call) unmet() error {
	for i := range c.st.done {
		if e := &c.st.done[i]; e.kind == effectEntry && !e.free && !e.read {
			return c.noLongerRun(e)
		}
	}
	return nil
}

// guarded reports whether the handler is neither linear code nor a list of steps.
func (c *Call) guarded() bool {
	return c.walk == noSteps && c.linear == nil && !c.st.journal && !c.onlyHere
}

func (l *ledger) noLongerRun(e *entry) error { return l.diverged("effect %q is no longer run", e.key) }

func (l *ledger) notWorded(question string) error {
	return l.diverged("question %q is not worded as it was", question)
}

// hides reports whether an answer is kept from a handler that is entered for its
// functions of OnStop alone. It stopped at this question before, and must not come past
// it: below may be code that has effects. Where an earlier run of the round had some, it came
// past it. The caller holds l.mu.
func (l *ledger) hides(e *entry) bool {
	return l.phase == stopping && e.fresh && (l.claim == nil || !l.claim.acted())
}

func (l *ledger) diverged(format string, args ...any) error {
	return &Error{Reason: Diverged, Detail: fmt.Sprintf(format, args...)}
}

// A call may begin in one version of its handler and go on in another: after a
// deployment, or between two instances while one is under way. The version is that of
// HandlerOptions, and else of the build. docs/what-can-happen-twice.md says which changes a call
// survives.

// changed reports whether some round of this call was served by another version than
// this one's.
func (l *ledger) changed() bool { return l.st.version != l.target.version || l.st.sealed != "" }

// deployed reports whether the round before was: its questions are that version's.
func (l *ledger) deployed() bool {
	return cmp.Or(l.st.sealed, l.st.version) != l.target.version
}

// stillValid reports whether an answer counts for the question that a guarded handler asks
// today. An answer that has just come to a question of other words, sent by another
// version, does not count; an earlier one does, unless its choice is no longer offered or one
// of its fields no longer asked for. Steps and journals judge that where they come past. The caller holds c.mu.
func (c *Call) stillValid(e *entry, q *spec) bool {
	if !c.changed() || c.linear != nil || c.walk != noSteps || e.wording() == q.digest() {
		return true
	}
	if e.fresh {
		return !c.deployed()
	}
	return q.form == nil || isOutcome(e.value) || q.form.Covers(e.value)
}

// mayGoBack reports whether the call can go back to the answer at an index of its
// history: the code is another version's, and the call has done nothing since. The
// caller holds l.mu.
func (l *ledger) mayGoBack(to int) bool {
	if !l.changed() {
		return false
	}
	for i := to; i < len(l.st.done); i++ {
		if e := &l.st.done[i]; e.kind.isAttempt() && !e.free {
			return false
		}
	}
	return true
}

// goBack takes the call back to where it asked these questions, the first of which was
// answered at an index of its history. Answers that are still to the point are kept
// for when they are asked now. The caller holds c.mu.
func (c *Call) goBack(to int, questions []*spec) {
	h := c.hooks.get()
	h.kept = map[string]json.RawMessage{}
	for _, q := range questions {
		if e := c.st.done.answer(q.key); e != nil && e.wording() == q.digest() {
			h.kept[q.key] = e.value
		}
	}
	c.hooks = &h
	c.st.forgetAnswersFrom(to)
}

// takeKept is the answer that was kept for a question, nil where there is none.
func (c *Call) takeKept(key string) json.RawMessage {
	if c.hooks == nil {
		return nil
	}
	value := c.hooks.kept[key]
	delete(c.hooks.kept, key)
	return value
}

// lost describes how today's type fails to hold a value from an earlier round, made before a
// deployment: "" if nothing is lost. JSON ignores fields that the type lacks, so a renamed field
// would silently be zero, and a handler would pay for a booking without its number. A field
// that the deployment added is zero, and not a loss.
func (l *ledger) lost(value json.RawMessage, today any) string {
	l.mu.Lock()
	changed := l.changed()
	l.mu.Unlock()
	if !changed || len(value) == 0 {
		return ""
	}
	strict := json.NewDecoder(bytes.NewReader(value))
	strict.DisallowUnknownFields()
	err := strict.Decode(today)
	if err == nil {
		return ""
	}
	if field, gone := strings.CutPrefix(err.Error(), "json: unknown field "); gone {
		return "has lost its field " + field
	}
	return "is of another type"
}
