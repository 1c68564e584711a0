package invariant

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Subject is one way to write the tool.
type Subject struct {
	Name string
	// EffectAt is where in the code the tool's effect stands.
	EffectAt Position
	// Serve builds a new instance of the server. The instances of one subject
	// share their keys and the effect function, and nothing else. The caller
	// calls stop when it is done with the instance.
	Serve func(effect func(line string)) (server *mcp.Server, stop func() error, err error)
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
// which line it leaves each time.
type Effects struct {
	Line                    string
	AtEnd, BetweenQuestions int
}

// Of lists the lines that a call of this subject must leave.
func (e Effects) Of(s Subject) []string {
	n := e.AtEnd
	if s.EffectAt == BetweenQuestions {
		n = e.BetweenQuestions
	}
	return slices.Repeat([]string{e.Line}, n)
}
