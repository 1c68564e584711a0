package mrtr

// An effect stands on the answers that its call had when it was made. Where one of them
// changes, the call ends with Diverged: whatever the handler went on to say, such as "nothing
// was charged", would be false. Journals and lists of steps hold their questions against
// the history as they come past them. A guarded handler runs from its top, and has three
// signs: a question in other words under an effect, an answer that was replaced under one,
// and an effect that the handler no longer comes to.

// answersHold returns an error where an effect stands on an answer that the answers of
// this round replace. The caller holds c.mu.
func (c *Call) answersHold() error {
	for i := range c.st.pending {
		p := &c.st.pending[i]
		if e := c.st.answer(p.key); e != nil && !p.repeats(e) && c.st.hasEffectOn(p.key) {
			return c.diverged("question %q is answered otherwise than before", p.key)
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
		if e := c.st.answer(sp.key); e != nil && e.wording() != sp.digest() && c.st.hasEffectOn(sp.key) {
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

func (c *Call) noLongerRun(e *entry) error { return c.diverged("effect %q is no longer run", e.key) }

func (c *Call) notWorded(question string) error {
	return c.diverged("question %q is not worded as it was", question)
}

// hides reports whether an answer is kept from a handler that is entered for its
// functions of OnStop alone. It stopped at this question before, and must not come past
// it: below may be code that has effects. The caller holds c.mu.
func (c *Call) hides(e *entry) bool { return c.phase == stopping && e.fresh }
