package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// With a store, a round runs once: whoever sends its request again gets the outcome, and
// other answers are refused.

type turnKey struct{ call, turn int }

// turn is a round as a store remembers it.
type turn struct {
	given   string      // the answers it is bound to, "" if none
	outcome *prediction // nil if it has none yet
	left    *state      // with the effects of a run that ended without an outcome
	cuts    int         // the runs that were cut off
	cut     bool        // the last one was
	branch  int         // that has it
	seen    sees        // if it was cut off
}

// fingerprint is the meaning of the answers of a round so far, or why the call ends without any.
func (s *state) fingerprint(end string) string {
	words := []string{"answers"}
	for _, q := range s.pending {
		word := fmt.Sprintf("%s=%q", q.key, q.message)
		switch {
		case q.answer != nil:
			word += fmt.Sprintf(" %s/%t", q.answer.read, q.answer.lacking)
			end = ""
		case q.ended != "":
			word += " " + string(q.ended)
			end = ""
		}
		words = append(words, word)
	}
	return strings.Join(append(words, end), ", ")
}

// firstAsked is the turn of the state with the first questions.
const firstAsked = 2

// mostCuts bounds the runs of a round that are cut off.
const mostCuts = 3

// takeTurn runs a round that a store remembers, or recalls it.
func (w *world) takeTurn(p *prediction, s *state, answered bool) {
	p.turns = true
	key, given := turnKey{s.call, s.turn}, s.given
	t := w.turns[key]
	switch {
	case t == nil:
		t = &turn{seen: sees{}}
		w.turns[key] = t
	case t.branch != s.branch && (t.given != "" && t.given != given || t.outcome != nil && s.turn-firstAsked >= s.seen):
		w.splits(p, s, answered)
		return
	case t.given != "" && t.given != given:
		p.refuse(invalidParams)
		return
	case t.outcome != nil && t.branch != s.branch && t.outcome.next != nil:
		w.drop(s)
		own := t.outcome.next.clone()
		own.at, own.who, own.branch, own.seen = s.at, s.who, s.branch, s.seen
		if s.expires.After(own.expires) {
			own.expires = s.expires
		}
		w.meetsBranch(p, own)
		return
	case t.outcome != nil:
		w.drop(s)
		p.recalled, p.kind, p.next = t.outcome, t.outcome.kind, t.outcome.next
		return
	case t.cut && (!s.tool.style.again() && (s.tool.style == coroutine || !t.left.canBeChecked()) || t.cuts >= mostCuts):
		if t.left != nil {
			s.take(t.left)
		}
		p.stop(stopUnknown)
		t.seen.silent(w.instance(s))
		if t.cuts < mostCuts { // it was taken over, for its undo
			t.given, t.branch, t.cut, t.outcome = given, s.branch, false, p
		}
		w.over(p, s)
		return
	}
	t.branch = s.branch
	effects, doubts := len(s.effects), len(s.doubts)
	if t.left != nil {
		s.take(t.left)
	}
	t.given, t.cut = given, false
	if answered {
		w.enter(p, s, s.known == nil)
	}
	p.free = p.kind == stops && p.reason == stopDiverged && len(s.effects)+len(s.doubts) == 0 || p.kind == refuses && p.code == lacksCapability || p.free
	p.free = p.free && (s.tool.style != coroutine || p.reason == stopUnknown)
	w.over(p, s)
	switch {
	case p.cut:
		t.cut, t.left, t.seen = true, s, sees{}
		t.cuts++
	case p.free:
		s.trim()
		t.left = s
		if len(s.effects) <= effects && len(s.doubts) <= doubts {
			t.given = ""
		}
	default:
		t.outcome = p
	}
}

// canBeChecked reports whether the outcome of every effect in doubt can be found out. The engine
// knows nothing of those of a native handler.
func (s *state) canBeChecked() (any bool) {
	if s.tool.style == native {
		return false
	}
	for _, it := range s.tool.plan.items {
		if s.doubts[it.effect] != nil {
			if any = true; it.settles != checks {
				return false
			}
		}
	}
	return any
}

// take adds the effects that an earlier run of the round has left behind.
func (s *state) take(left *state) {
	maps.Copy(s.effects, left.effects)
	for key, given := range left.answers { // where a call was split off, no request brings them
		if _, own := s.answers[key]; !own {
			s.answers[key] = given
		}
	}
	for key, doubt := range left.doubts {
		s.doubts[key] = doubt
		if s.tried[key] == nil {
			s.tried[key] = maps.Clone(left.tried[key])
		}
	}
	if s.tool.style.linear() {
		maps.Copy(s.failures, left.failures)
	}
}

// trim drops the failures after the last effect that happened or may have: code that runs
// again does not meet them.
func (s *state) trim() {
	for _, i := range slices.Backward(s.tool.order()) {
		key := s.tool.plan.items[i].effect
		switch doubt := s.doubts[key] != nil; {
		case s.failures[i]:
			delete(s.failures, i)
			if doubt {
				return
			}
		case s.effects[key] != nil, doubt && !s.failed(key):
			return
		}
	}
}

// failed reports whether code meets a failure of an effect again.
func (s *state) failed(key string) bool {
	for i, failed := range s.failures {
		if failed && s.tool.plan.items[i].effect == key {
			return true
		}
	}
	return false
}

// stalled ends a round whose time is up before its handler goes on.
func (w *world) stalled(p *prediction, s *state) {
	if s.tool.style.again() {
		p.refuse(sendAgain)
		p.free = true
		return
	}
	p.stop(stopUnknown)
}
