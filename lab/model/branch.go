package model

import (
	"time"
)

// With a store, equal first requests of one user are one call while it waits for its first answer.
// Each of them has a branch of its own, which goes on with the call as far as that had come when the
// branch began, or as the first to answer. Any other answer splits it off.

// intent is the meaning of a first request.
type intent struct {
	user int
	tool *tool
	args int
}

// firstTurn is the record of the last call with an intent.
type firstTurn struct {
	asked *state // with its first questions; nil if it was let go of with effects, which are
	left  *state
}

// split names the call of a branch that was split off.
type split struct{ call, turn, branch int }

// sees is since when an instance has seen the holder of a turn that was cut off say nothing.
type sees map[*instance]time.Time

const lease = 15 * time.Second

func (s sees) silent(i *instance) bool {
	if s[i].IsZero() {
		s[i] = time.Now()
	}
	return time.Since(s[i]) >= lease
}

// predictFirst is the prediction of a first request: of one that joins a call, or begins one.
func (w *world) predictFirst(p *prediction, r *request) *prediction {
	joins := w.site.store != nil && r.at != elsewhere && !r.who.tasks
	means := intent{r.who.user, r.tool, r.args}
	first := w.first[means]
	if joins && first != nil && first.asked != nil {
		if s := w.waiting(first.asked, r); s != nil {
			p.call = s.call
			w.meetsBranch(p, s)
			return p
		}
	}
	s := w.begin(r)
	if joins && first != nil && first.left != nil {
		s.call = first.left.call
		s.take(first.left)
	} else {
		w.calls++
		s.call = w.calls
	}
	p.call = s.call
	effects, doubts := len(s.effects), len(s.doubts)
	w.enter(p, s, false)
	p.free = p.free || p.kind == refuses && p.code == lacksCapability
	w.over(p, s)
	switch {
	case !joins:
	case p.next != nil:
		w.first[means] = &firstTurn{asked: p.next}
	case p.free && len(s.effects)+len(s.doubts) > effects+doubts:
		s.trim()
		w.first[means] = &firstTurn{left: s}
	case !p.free && (len(s.effects)+len(s.doubts) > 0 || len(p.runs) > 0): // it has claimed the turn, and ended it
		delete(w.first, means)
	}
	return p
}

// waiting is the state of a new branch of a call, nil if that is over. It looks at each turn as the
// instance of the request does.
func (w *world) waiting(asked *state, r *request) *state {
	last, seen := asked, 0
	for {
		t := w.turns[turnKey{last.call, last.turn}]
		if t != nil && t.outcome != nil {
			if t.outcome.next == nil {
				return nil
			}
			last = t.outcome.next
			seen++
			continue
		}
		open := time.Now().Before(last.expires)
		if t != nil && t.cut && t.seen.silent(w.site.instance(r.at)) && (!open || !w.goesOn(last, t)) {
			return nil
		}
		unclaimed := t == nil || !t.cut && t.given == ""
		if !open || unclaimed && !last.holds(w.site.instance(r.at)) {
			return nil
		}
		break
	}
	s := asked.clone()
	w.branches++
	s.at, s.who, s.branch, s.seen = r.at, r.who, w.branches, seen
	if last.expires.After(s.expires) {
		s.expires = last.expires
	}
	return s
}

// holds reports whether an instance can go on from a state, and holds its handler for as long again.
func (s *state) holds(i *instance) bool {
	if s.frame.alive(i, time.Now()) {
		s.frame.expires = time.Now().Add(frameLife)
		return true
	}
	return s.tool.style != coroutine
}

// goesOn reports whether a turn that was cut off can be gone on with.
func (w *world) goesOn(s *state, t *turn) bool {
	return (s.tool.style.again() || s.tool.style != coroutine && t.left.canBeChecked()) && t.cuts < mostCuts
}

// meetsBranch gives a branch the questions of another, as far as its client can be asked them. It goes
// on where it can be asked none.
func (w *world) meetsBranch(p *prediction, s *state) {
	for i := range s.pending {
		q := &s.pending[i]
		if q.answer != nil || declares(s.who.caps, q.medium) {
			continue
		}
		if !q.lenient {
			p.refuse(lacksCapability)
			return
		}
		q.answer = &reply{read: q.refused, lacking: true, message: q.message}
	}
	if len(s.openQuestions()) > 0 {
		w.open(p, s)
		return
	}
	s.given = s.fingerprint("")
	s.file()
	w.takeTurn(p, s, true)
}

// splits makes a branch a call of its own, which begins with the answers that it has given.
func (w *world) splits(p *prediction, s *state, answered bool) {
	key := split{s.call, s.turn, s.branch}
	if w.split[key] == 0 {
		w.calls++
		w.split[key] = w.calls
	}
	own := newState(w.split[key], s.tool, &request{args: s.args, who: s.who, at: s.at}, w.instance(s).worded)
	own.turn, own.branch, own.expires, own.pending, own.given = s.turn, s.branch, s.expires, s.pending, s.given
	own.known = history{}
	for key, given := range s.answers {
		own.known[key] = given
	}
	p.call = own.call
	w.takeTurn(p, own, answered)
	own.known = nil // they are those of this request
}
