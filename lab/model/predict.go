package model

import (
	"cmp"
	"slices"
	"time"
)

// prediction is the model's expectation of one request.
type prediction struct {
	outcome
	call int          // the call's number
	runs []*effectRun // in their order
	next *state       // the meaning of the token in the reply
	tell []func()     // make the text, once the effects have values

	recalled *prediction // the one whose outcome an earlier request got
	free     bool        // the same request goes on where this one ended
	cut      bool        // the instance dies
	reached  bool        // its incident
	turns    bool        // its round is remembered
	entered  bool        // the handler
	late     bool        // its frame had gone on with the call, or ended with it
	undoes   undoing
}

// undoing says whether the call's undoable effect is undone.
type undoing int

const (
	keeps undoing = iota
	mayUndo
	undoes
)

func (p *prediction) refuse(code int64) { p.outcome = outcome{kind: refuses, code: code} }

func (p *prediction) stop(reason string) { p.outcome = outcome{kind: stops, reason: reason} }

// world is the part of the model that is not in any token.
type world struct {
	site     *site
	mood     mood
	incident *incident // of the request that is predicted
	calls    int
	branches int
	first    map[intent]*firstTurn
	split    map[split]int // their calls
	turns    map[turnKey]*turn
	paid     map[string]*payments // by what they were for
}

// predict says how a request is answered now, and notes what becomes of frames.
func (w *world) predict(r *request) *prediction {
	p := &prediction{}
	if r.from == nil {
		return w.predictFirst(p, r)
	}
	p.call = r.from.state.call
	for _, q := range r.from.state.openQuestions() {
		if r.manners[q.key] == shapeless {
			p.refuse(invalidParams) // by go-sdk, before the state is looked at
			return p
		}
	}
	if !r.opens() {
		p.refuse(invalidParams)
		return p
	}
	s := r.from.state.clone()
	s.at, s.given = r.at, ""
	p.late = s.frame.hasLeft(w.instance(s), time.Now())
	answered := w.judge(p, s, r)
	switch {
	case s.turn > 0 && s.given != "":
		w.takeTurn(p, s, answered)
		if !p.free || s.at == r.at {
			return p
		}
		again := w.predict(r) // its instance goes on where the one that held the handler let go
		again.runs, again.tell = append(p.runs, again.runs...), append(p.tell, again.tell...)
		return again
	case answered:
		w.enter(p, s, true)
	}
	if s.turn == 0 || p.turns {
		w.over(p, s)
	}
	return p
}

// over is the end of a request. A call that has ended holds nothing, and its effects are
// undone. With a store, an answer that is of no use ends its request alone.
func (w *world) over(p *prediction, s *state) {
	if p.kind != stops && p.kind != refuses {
		return
	}
	w.drop(s)
	if s.turn == 0 && p.late && !s.tool.style.replays() {
		return
	}
	stands := s.effects[undoable] != nil
	if p.free && s.turn > 0 || p.cut || s.tool.style == native || !stands && s.doubts[undoable] == nil {
		return
	}
	p.undoes = mayUndo
	switch p.reason {
	case stopDeclined, stopCancelled, stopUnanswered, failedEffect, stopPanic, stopFrameGone, stopDiverged:
		if stands {
			p.undoes = undoes
		}
	}
}

// begin is the state of a call that begins.
func (w *world) begin(r *request) *state {
	s := newState(w.calls, r.tool, r, w.site.instance(r.at).worded)
	if w.site.store != nil && r.at != elsewhere && !r.who.legacy {
		s.turn = 1
	}
	return s
}

// judge takes the answers of a retry, all of them, though one ends the call. It is false if the
// handler is not entered.
func (w *world) judge(p *prediction, s *state, r *request) bool {
	ends := ""
	for _, q := range s.openQuestions() {
		m := r.manners[q.key]
		switch v, read := q.judge(m); {
		case v == answer:
			q.answer = &reply{read: read, lacking: m == declined || m == cancelled, message: q.message}
		case v == refusal:
			q.ended, ends = m, cmp.Or(ends, string(m))
		case q.tries == mostTries:
			ends = cmp.Or(ends, stopUnanswered)
		default:
			q.tries++
		}
	}
	if ends != "" {
		p.stop(ends)
		s.given = s.fingerprint("")
		return false
	}
	if len(s.openQuestions()) > 0 {
		if !s.holds(w.instance(s)) && s.frame != nil { // it waits as long again, and cannot
			p.stop(stopFrameGone)
			s.given = s.fingerprint(p.reason)
			return false
		}
		w.seal(p, s, false)
		return false
	}
	for _, q := range s.pending {
		if last, ok := s.answers[q.key]; ok && (last.read != q.answer.read || last.message != q.message) && s.doubtOn(q.key) {
			p.stop(stopDiverged)
			s.given = s.fingerprint("")
			return false
		}
	}
	s.given = s.fingerprint("")
	s.file()
	return true
}

// enter runs the tool from the top, past the facts that the state remembers, until
// it asks or ends.
func (w *world) enter(p *prediction, s *state, later bool) {
	replayed := false
	p.entered = true
	if later && s.tool.style.holds() {
		switch {
		case s.frame.alive(w.instance(s), time.Now()):
		case s.tool.style.replays():
			replayed = true
		default:
			p.stop(stopFrameGone)
			return
		}
		w.drop(s)
	}
	compared := s.tool.comparison(replayed)
	for w.pass(p, s, compared) {
		if s.tool.style == stepList { // whose answers have been held against their questions
			compared = ignored
		}
	}
}

// pass goes through the items once. It is true if the handler is entered again
// at once, since nobody had to be asked.
func (w *world) pass(p *prediction, s *state, compared comparison) (again bool) {
	worded := w.instance(s).worded
	told, ran, met := make(told, len(s.tool.plan.items)), map[string]*effectRun{}, map[string]bool{}
	order := s.tool.order()
	for n, i := range order {
		it := s.tool.plan.items[i]
		switch {
		case it.quits != "":
			if s.answers[it.quits].read == "false" {
				p.stop(stopDeclined)
				return false
			}
		case it.effect != "":
			if it.repeats && s.effects[it.effect] != nil {
				p.stop(stopUsage)
				p.free = true
				return false
			}
			if !w.effect(p, s, i, ran, told) {
				return false
			}
			met[it.effect] = true
		default:
			var asks []*question
			for _, q := range it.ask {
				given, ok := s.answers[q.key]
				reworded := ok && given.message != q.worded[worded].message && compared.minds(q, given, s, worded)
				switch {
				case reworded && s.tool.style.guarded() && s.doubtOn(q.key):
					p.stop(stopDiverged)
					return false
				case reworded && !s.goesBack(compared, q, order[n+1:], worded):
					p.stop(stopDiverged)
					return false
				case reworded && compared != consent:
					s.forget(order[n+1:])
					asks = append(asks, q)
				case !ok || reworded:
					asks = append(asks, q)
				default:
					told.answer(i, q.key, given.read)
				}
			}
			if len(asks) > 0 && s.tool.style.guarded() && s.hasEffectBelow(met) {
				p.stop(stopDiverged)
				return false
			}
			if len(asks) > 0 && compared != asSteps && s.tool.style != answered {
				kept := map[string]reply{}
				if compared == allOrDiverge { // those that are worded as they were keep their answers
					for _, q := range it.ask {
						if g, ok := s.answers[q.key]; ok && !slices.Contains(asks, q) {
							kept[q.key] = g
						}
					}
					s.forget([]int{i})
				}
				return w.ask(p, s, it.ask, kept) // they are one guard, or one AskAll
			}
			if len(asks) > 0 {
				return w.ask(p, s, asks, nil)
			}
		}
	}
	p.complete(s, told)
	return false
}

func (p *prediction) complete(s *state, told told) {
	p.outcome = outcome{kind: completes}
	p.tell = append(p.tell, func() { p.text = refs[s.args] + " " + told.String() })
}

// ask sends questions, as far as this client can be asked.
func (w *world) ask(p *prediction, s *state, questions []*question, kept map[string]reply) (again bool) {
	worded := w.instance(s).worded
	s.pending = nil
	for _, q := range questions {
		o := open{question: q, message: q.worded[worded].message}
		if g, ok := kept[q.key]; ok {
			o.answer = &g
		} else if g, ok := s.known[q.key]; ok && g.message == o.message {
			o.answer = &g
			delete(s.known, q.key)
		} else if !declares(s.who.caps, q.medium) {
			switch {
			case q.lenient:
				o.answer = &reply{read: q.refused, lacking: true, message: o.message}
			case s.who.legacy:
				p.stop(stopCannotAsk)
				return false
			default:
				p.refuse(lacksCapability)
				return false
			}
		}
		s.pending = append(s.pending, o)
	}
	if len(s.openQuestions()) > 0 {
		w.seal(p, s, true)
		return false
	}
	s.file()
	return true
}

// seal ends a round that asks. parks says that the handler came to its questions
// in this round, rather than that they are asked again without it.
func (w *world) seal(p *prediction, s *state, parks bool) {
	if s.turn > 0 && parks {
		s.turn++
	}
	if s.asked++; s.asked > mostAsks {
		p.stop(stopTooMany)
		return
	}
	if s.tool.style.holds() && parks {
		w.drop(s)
		s.frame = &frame{holder: w.instance(s), expires: time.Now().Add(frameLife)}
	}
	if parks {
		s.sealed = w.instance(s).worded
	}
	w.open(p, s)
	if s.turn == 0 || parks {
		s.expires = time.Now().Add(tokenLife)
	}
}

// open is the reply with the questions that have no answer yet.
func (w *world) open(p *prediction, s *state) {
	p.outcome = outcome{kind: asksUser}
	for _, q := range s.openQuestions() {
		p.asks = append(p.asks, asked{q.key, q.message})
	}
	sortAsked(p.asks)
	p.next = s
}

// drop ends a frame that the running instance holds.
func (w *world) drop(s *state) {
	if f := s.frame; f != nil && f.holder == w.instance(s) {
		f.gone = true
	}
}

func (w *world) instance(s *state) *instance { return w.site.instance(s.at) }
