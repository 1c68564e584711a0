package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The promises in figures.
const (
	tokenLife = time.Hour + 30*time.Second // with the skew
	frameLife = 15 * time.Minute
	mostAsks  = 9
	mostTries = 3
)

// state is what a token stands for: the facts of a call so far. A retry copies it,
// so that each use of a token begins a chain of its own.
type state struct {
	call    int // the call's number
	tool    *tool
	args    int
	who     caller
	at      int // the instance that sealed it last, or runs the call
	expires time.Time

	asked    int
	answers  map[string]given
	effects  map[string]*effectRun // remembered, by key
	failures map[int]bool          // items whose effect failed, for code that meets it again
	carried  bool
	pending  []open
	frame    *frame // nil where none is held
}

// given is an answer, with the wording of its question.
type given struct {
	read   string
	worded int
}

// open is a question that was sent.
type open struct {
	*question
	worded int
	tries  int
	answer *given // held until the rest of the round is answered
}

// frame is a handler that is held by an instance.
type frame struct {
	holder  *instance
	expires time.Time
	gone    bool
}

// effectRun is an effect that the model expects to be attempted. What cannot be
// predicted is filled in from the desk's record.
type effectRun struct {
	key    string
	fails  bool
	before string // the answers that were given before it
	value  int
}

func (s *state) clone() *state {
	c := *s
	c.answers = maps.Clone(s.answers)
	c.effects = maps.Clone(s.effects)
	c.failures = maps.Clone(s.failures)
	c.pending = slices.Clone(s.pending)
	return &c
}

// history spells the answers so far.
func (s *state) history() string {
	words := make([]string, 0, len(s.answers))
	for key, a := range s.answers {
		words = append(words, fmt.Sprintf("%s=%s/%d", key, a.read, a.worded))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// group are the questions of which the pending ones are a round.
func (s *state) openQuestions() []*open {
	var still []*open
	for i := range s.pending {
		if p := &s.pending[i]; p.answer == nil {
			still = append(still, p)
		}
	}
	return still
}

// alive reports whether a frame can be resumed by an instance.
func (f *frame) alive(i *instance, now time.Time) bool {
	return f != nil && !f.gone && f.holder == i && now.Before(f.expires)
}
