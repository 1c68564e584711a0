package model

// comparison is how the answers of earlier rounds are held against the questions
// that the tool asks today, after a deployment that worded them differently.
type comparison string

const (
	ignored      comparison = "ignored"
	consent      comparison = "consent" // asked anew
	allOrDiverge comparison = "replay"  // asked anew if nothing was done since
	asSteps      comparison = "steps"   // the same, unless a later step followed from a yes
)

func (t *tool) comparison(replayed bool) comparison {
	switch {
	case replayed || t.style == journal:
		return allOrDiverge
	case t.style.guarded():
		return consent
	case t.style == stepList:
		return asSteps
	}
	return ignored
}

// minds reports whether another wording of a question makes a difference. Steps ask for consent
// alone unless the tool's version is another than that of the round before.
func (c comparison) minds(q *question, g reply, s *state, worded int) bool {
	switch c {
	case allOrDiverge, consent:
		return true
	case asSteps:
		return q.confirm || s.sealed != worded
	}
	return false
}

// goesBack reports whether the call can go back to a question that is worded otherwise,
// with these items behind it.
func (s *state) goesBack(c comparison, q *question, later []int, worded int) bool {
	switch {
	case c == consent:
		return true
	case s.doubtOn(q.key):
		return false
	case c == asSteps && q.confirm:
		return !s.wentOn(later)
	case s.begun == worded && s.sealed == s.begun:
		return false // it is no other version's
	}
	return !s.acted(later)
}

// hasEffectBelow reports whether an effect happened in an earlier round that a guarded
// handler has not come to when it asks: it may stand on the answer.
func (s *state) hasEffectBelow(met map[string]bool) bool {
	for _, it := range s.tool.plan.items {
		if s.effects[it.effect] != nil && !met[it.effect] && !it.free {
			return true
		}
	}
	return false
}

// doubtOn reports whether an effect that may have happened stands on an answer.
func (s *state) doubtOn(question string) bool {
	for key := range s.doubts {
		if _, stands := s.tried[key][question]; stands {
			return true
		}
	}
	return false
}

// acted reports whether an effect of any of these items happened there.
func (s *state) acted(items []int) bool {
	for _, i := range items {
		if key := s.tool.plan.items[i].effect; key != "" && !s.tool.plan.items[i].free && s.effects[key] != nil && s.ranAt(key) == i {
			return true
		}
	}
	return false
}

// ranAt is the item at which an effect that is remembered has run: the first of its key
// that did not fail.
func (s *state) ranAt(key string) int {
	for _, i := range s.tool.order() {
		if s.tool.plan.items[i].effect == key && !s.failures[i] {
			return i
		}
	}
	return -1
}

// forget drops the answers to the questions of these items, and their attempts that failed.
func (s *state) forget(items []int) {
	for _, i := range items {
		it := s.tool.plan.items[i]
		for _, q := range it.ask {
			delete(s.answers, q.key)
		}
		if s.failures[i] && s.effects[it.effect] == nil && s.doubts[it.effect] == nil {
			if delete(s.failures, i); !s.failed(it.effect) {
				delete(s.tried, it.effect)
			}
		}
	}
}

// wentOn reports whether any of these items has happened.
func (s *state) wentOn(items []int) bool {
	for _, i := range items {
		it := s.tool.plan.items[i]
		if s.effects[it.effect] != nil {
			return true
		}
		for _, q := range it.ask {
			if _, ok := s.answers[q.key]; ok {
				return true
			}
		}
	}
	return false
}
