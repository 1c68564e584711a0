package model

// comparison is how the answers of earlier rounds are held against the questions
// that the tool asks today, after a deployment that worded them differently.
type comparison string

const (
	ignored      comparison = "ignored"
	consent      comparison = "consent" // a Confirm is asked anew
	allOrDiverge comparison = "replay"  // every difference ends the call
	asSteps      comparison = "steps"   // asked anew where no later step went by it
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

// minds reports whether another wording of a question makes a difference. Steps ask
// for consent alone unless the tool's version is another than the call began with.
func (c comparison) minds(q *question, deployed bool) bool {
	switch c {
	case allOrDiverge:
		return true
	case consent:
		return q.confirm
	case asSteps:
		return q.confirm || deployed
	}
	return false
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
