package mrtrtest

import "slices"

// Subject is one way to write the tool.
type Subject struct {
	Name string
	// EffectAt is where in the code the tool's effect stands.
	EffectAt Position
	Build    Build
}

// Position is where an effect stands among the questions. It decides whether a
// call that stops half way has had its effect.
type Position int

const (
	// AtEnd is below the last question.
	AtEnd Position = iota
	// BetweenQuestions is as early as everything the effect needs is known.
	BetweenQuestions
)

// Effects says how often a call has the tool's effect, for each position, and
// under which name.
type Effects struct {
	Name                    string
	AtEnd, BetweenQuestions int
}

// Of lists the effects that a call of this subject must have.
func (e Effects) Of(s Subject) []string {
	n := e.AtEnd
	if s.EffectAt == BetweenQuestions {
		n = e.BetweenQuestions
	}
	return slices.Repeat([]string{e.Name}, n)
}
