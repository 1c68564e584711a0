package model

import (
	"time"
)

// prediction is what the model expects of one request.
type prediction struct {
	outcome
	call int               // the call's number
	runs []*effectRun      // in their order
	next *state            // what the token of the reply stands for
	tell func(*prediction) // makes the text, once the effects have values
}

func (p *prediction) refuse(code int64) { p.outcome = outcome{kind: refuses, code: code} }

func (p *prediction) stop(reason string) { p.outcome = outcome{kind: stops, reason: reason} }

// world is the part of the model that is not in any token.
type world struct {
	site       *site
	deskClosed bool
	calls      int
}

// request is one request as the model knows it. Sending it again is another
// request with the same contents.
type request struct {
	at   int
	who  caller
	tool *tool
	args int
	// A retry has the round whose state it sends, and the user's manner by question.
	from     *round
	manners  map[string]manner
	extra    bool // right answers to every question of the tool, asked or not
	altered  alteration
	position int  // where
	respelt  bool // the arguments are written differently
}

// round is an answer of a server that waits for another request.
type round struct {
	token string
	state *state
}

// predict says how a request is answered now, and notes what becomes of frames.
func (w *world) predict(r *request) *prediction {
	p := &prediction{}
	if r.from == nil {
		w.calls++
		p.call = w.calls
		w.enter(p, &state{
			call: w.calls, tool: r.tool, args: r.args, who: r.who, at: r.at,
			answers: map[string]given{}, effects: map[string]*effectRun{}, failures: map[int]bool{},
		}, false)
		return p
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
	s.at = r.at
	if w.judge(p, s, r) {
		w.enter(p, s, true)
	}
	if p.kind == stops || p.kind == refuses { // an ended call holds nothing
		w.drop(s)
	}
	return p
}

// opens reports whether the state of a retry opens for its request.
func (r *request) opens() bool {
	s := r.from.state
	return r.altered == "" && r.tool == s.tool && r.args == s.args && r.who.user == s.who.user && !r.who.legacy &&
		(r.at == elsewhere) == (s.at == elsewhere) && time.Now().Before(s.expires)
}

// judge takes the answers of a retry. It is false where the handler is not entered.
func (w *world) judge(p *prediction, s *state, r *request) bool {
	for _, q := range s.openQuestions() {
		v, read := q.judge(r.manners[q.key])
		switch v {
		case answer:
			q.answer = &given{read, q.worded}
		case refusal:
			p.stop(string(r.manners[q.key]))
			return false
		case useless:
			if q.tries++; q.tries > mostTries {
				p.stop(stopUnanswered)
				return false
			}
		}
	}
	if len(s.openQuestions()) > 0 {
		w.seal(p, s, false)
		return false
	}
	for _, q := range s.pending {
		s.answers[q.key] = *q.answer
	}
	s.pending = nil
	return true
}

// enter runs the tool from the top, past what the state remembers, until it asks
// or ends.
func (w *world) enter(p *prediction, s *state, later bool) {
	replayed := false
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
	replayed = replayed || s.tool.style == journal
	for again := true; again; {
		again = w.pass(p, s, replayed)
	}
}

// pass goes through the items once. It is true where the handler is entered again
// at once, since nobody had to be asked.
func (w *world) pass(p *prediction, s *state, replayed bool) (again bool) {
	worded := w.worded(s)
	told, ran := make(told, len(s.tool.plan.items)), map[string]*effectRun{}
	var values []func()
	for _, i := range s.tool.order() {
		it := s.tool.plan.items[i]
		switch {
		case it.carry:
			if !s.carried {
				s.carried = true
				p.outcome = outcome{kind: carries}
				s.expires = time.Now().Add(tokenLife)
				p.next = s
				return false
			}
		case it.effect != "":
			run, goesOn := w.effect(p, s, i, ran)
			switch {
			case !goesOn:
				p.stop(failedEffect)
				return false
			case run == nil:
				told.failed(i, it.effect)
			default:
				values = append(values, func() { told.effect(i, it.effect, run.value) })
			}
		default:
			for _, q := range it.ask {
				given, ok := s.answers[q.key]
				reworded := ok && q.worded[given.worded].message != q.worded[worded].message
				if reworded && replayed {
					p.stop(stopDiverged)
					return false
				}
				if !ok || reworded && q.confirm && s.tool.style.guarded() {
					return w.ask(p, s, it.ask)
				}
				told.answer(i, q.key, given.read)
			}
		}
	}
	p.outcome = outcome{kind: completes}
	p.tell = func(p *prediction) {
		for _, fill := range values {
			fill()
		}
		p.text = refs[s.args] + " " + told.String()
	}
	return false
}

// effect is the run of an item's effect, remembered or new, or nil where it failed.
// goesOn is false where the failure ends the call.
func (w *world) effect(p *prediction, s *state, i int, ran map[string]*effectRun) (_ *effectRun, goesOn bool) {
	it := s.tool.plan.items[i]
	remembered := s.effects
	if s.tool.style == native {
		remembered = ran // in one entry alone
	}
	if s.failures[i] {
		return nil, true
	}
	if run := remembered[it.effect]; run != nil {
		return run, true
	}
	run := &effectRun{key: it.effect, fails: w.deskClosed, before: s.history()}
	p.runs = append(p.runs, run)
	if !run.fails {
		remembered[it.effect] = run
		return run, true
	}
	if s.tool.style.linear() {
		s.failures[i] = true
	}
	return nil, s.tool.tolerates(it)
}

// ask sends questions, as far as this client can be asked.
func (w *world) ask(p *prediction, s *state, questions []*question) (again bool) {
	worded := w.worded(s)
	s.pending = nil
	for _, q := range questions {
		o := open{question: q, worded: worded}
		if !declares(s.who.caps, q.medium) {
			switch {
			case q.lenient:
				o.answer = &given{q.refused, worded}
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
	for _, q := range s.pending {
		s.answers[q.key] = *q.answer
	}
	s.pending = nil
	return true
}

// seal ends a round that asks. parks tells that the handler came to its questions
// in this round, rather than that they are asked again without it.
func (w *world) seal(p *prediction, s *state, parks bool) {
	if s.asked++; s.asked > mostAsks {
		p.stop(stopTooMany)
		return
	}
	if s.tool.style.holds() {
		alive := s.frame.alive(w.instance(s), time.Now())
		w.drop(s)
		switch {
		case parks || alive:
			s.frame = &frame{holder: w.instance(s), expires: time.Now().Add(frameLife)}
		case !s.tool.style.replays():
			p.stop(stopFrameGone)
			return
		default:
			s.frame = nil
		}
	}
	p.outcome = outcome{kind: asksUser}
	for _, q := range s.openQuestions() {
		p.asks = append(p.asks, asked{q.key, q.question.worded[q.worded].message})
	}
	sortAsked(p.asks)
	s.expires = time.Now().Add(tokenLife)
	p.next = s
}

// drop ends a frame that the running instance holds.
func (w *world) drop(s *state) {
	if s.frame != nil && s.frame.holder == w.instance(s) {
		s.frame.gone = true
	}
}

func (w *world) instance(s *state) *instance { return w.site.instance(s.at) }

// worded is the wording that the call's tool has where it runs.
func (w *world) worded(s *state) int { return s.tool.worded(w.instance(s).worded) }
