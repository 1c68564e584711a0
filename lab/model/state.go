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

// state is the meaning of a token: the facts of a call so far. A retry copies it,
// so that each use of a token begins a chain of its own.
type state struct {
	call    int // the call's number
	begun   int // the wording of the tool that it began with
	sealed  int // and that of the one that asked last
	tool    *tool
	args    int
	who     caller
	at      int // the instance that sealed it last, or runs the call
	expires time.Time

	asked    int
	answers  history
	effects  map[string]*effectRun // remembered, by key
	tried    map[string]history    // the answers before the first attempt at each effect
	failures map[int]bool          // items whose effect failed, for code that meets it again
	doubts   map[string]*effectRun // effects that may have happened
	branch   int                   // 0 for that of the request that began the call
	seen     int                   // the turns whose questions had gone out when the branch began
	known    history               // answers that were given before the branch was split off
	turn     int                   // counts the rounds that a store remembers; 0 if none does
	pending  []open
	frame    *frame // nil if none is held
	given    string // the answers of the round, as they were judged
}

// reply is an answer, with the wording of its question.
type reply struct {
	read    string
	lacking bool // the user, or the client, gave none: a lenient question has one then, too
	message string
	fresh   bool // it came in this round, with the last questions that were asked
}

// history is the answers that were given before something.
type history map[string]reply

// age makes all answers those of an earlier round.
func (h history) age() {
	for key, given := range h {
		given.fresh = false
		h[key] = given
	}
}

// open is a question that was sent.
type open struct {
	*question
	message string
	tries   int
	answer  *reply // held until the rest of the round is answered
	ended   manner // in which its user ended the call
}

// frame is a handler that is held by an instance.
type frame struct {
	holder  *instance
	expires time.Time
	gone    bool
}

// effectRun is an effect that the model expects to be attempted. The parts that
// cannot be predicted are filled in from the desk's record.
type effectRun struct {
	key    string
	fails  bool
	paid   bool
	again  bool   // it may happen twice
	before string // the answers that were given before it was first attempted
	value  int
	found  *payments // of one that a check has found
}

// payments are the runs with one idempotency key that happened.
type payments struct{ runs []*effectRun }

// told is the value that the handler gets. A check finds the run that came first, and two
// requests at once come in any order.
func (r *effectRun) told() int {
	if r.found == nil {
		return r.value
	}
	first := slices.MinFunc(r.found.runs, func(a, b *effectRun) int { return a.value - b.value })
	return first.value
}

func (s *state) clone() *state {
	c := *s
	c.answers = maps.Clone(s.answers)
	c.answers.age()
	c.effects = maps.Clone(s.effects)
	c.tried = map[string]history{}
	for effect, before := range s.tried {
		c.tried[effect] = maps.Clone(before)
	}
	c.failures, c.known = maps.Clone(s.failures), maps.Clone(s.known)
	c.doubts = maps.Clone(s.doubts)
	c.pending = slices.Clone(s.pending)
	return &c
}

// file moves the answers of a round to those of the call. One to a question that
// was asked anew takes the place of the one before, and counts as given now unless it is
// the same.
func (s *state) file() {
	s.answers.age()
	for _, q := range s.pending {
		last := s.answers[q.key]
		same := last == *q.answer
		q.answer.fresh = true
		s.answers[q.key] = *q.answer
		if same {
			continue
		}
		for _, before := range s.tried {
			if _, had := before[q.key]; had {
				before[q.key] = *q.answer
			}
		}
	}
	s.pending = nil
}

// attempted are the answers before the first attempt at an effect, which is now if
// there was none.
func (s *state) attempted(effect string, free bool) string {
	if free {
		return "any answers"
	}
	if s.tried[effect] == nil {
		s.tried[effect] = maps.Clone(s.answers)
	}
	words := make([]string, 0, len(s.tried[effect]))
	for key, a := range s.tried[effect] {
		words = append(words, fmt.Sprintf("%s=%s/%t to %q", key, a.read, a.lacking, a.message))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// openQuestions are those of the round that have no answer yet.
func (s *state) openQuestions() []*open {
	var still []*open
	for i := range s.pending {
		if p := &s.pending[i]; p.answer == nil {
			still = append(still, p)
		}
	}
	return still
}

func newState(call int, t *tool, r *request, begun int) *state {
	return &state{
		call: call, begun: begun, sealed: begun, tool: t, args: r.args, who: r.who, at: r.at,
		answers: history{}, effects: map[string]*effectRun{}, tried: map[string]history{}, failures: map[int]bool{}, doubts: map[string]*effectRun{},
	}
}

// hasLeft reports whether an instance has held a frame that is gone.
func (f *frame) hasLeft(i *instance, now time.Time) bool {
	return f != nil && f.holder == i && !f.alive(i, now)
}

// alive reports whether a frame can be resumed by an instance.
func (f *frame) alive(i *instance, now time.Time) bool {
	return f != nil && !f.gone && f.holder == i && now.Before(f.expires)
}
