package model

import (
	"slices"
	"strings"
)

// legacyCall is the whole call of a legacy client, whose questions come over its
// session. The user's manners are used in turn, by question: the nth time that a
// key is asked has its own.
type legacyCall struct {
	*request
	manners []manner
}

// manner is the user's when q is asked for the nth time, counted from zero. Roots
// and messages come from the client itself, which has them or fails.
func (l *legacyCall) manner(q *question, nth int) manner {
	m := l.manners[(len(q.key)+nth)%len(l.manners)]
	if !q.medium.elicits() && m != other && m != missing {
		return right
	}
	return m
}

// predictLegacy says how the call ends, how many questions the client is sent, and
// which effects run. The number is -1 if a question that fails may have
// cancelled others.
func (w *world) predictLegacy(l *legacyCall) (p *prediction, questions int) {
	nth := map[string]int{}
	p = &prediction{}
	w.calls++
	p.call = w.calls
	s := w.begin(l.request)
	if s.tool.style == versions {
		return w.overSession(p, s, l)
	}
	w.enter(p, s, false)
	for p.next != nil {
		s = p.next
		p.next = nil
		r := &request{at: l.at, manners: map[string]manner{}}
		failed := false
		for _, q := range s.openQuestions() {
			m := l.manner(q.question, nth[q.key])
			nth[q.key]++
			questions++
			r.manners[q.key] = m
			failed = failed || m == missing
		}
		if failed {
			w.drop(s)
			p.stop(stopNoAnswer)
			return p, -1
		}
		if w.judge(p, s, r) {
			w.enter(p, s, true)
		}
	}
	if p.kind != completes {
		w.drop(s)
	}
	return p, questions
}

// overSession is the legacy arm of a tool with one style an era: it asks one
// question after the other, in one round, and its effects are bare.
func (w *world) overSession(p *prediction, s *state, l *legacyCall) (_ *prediction, questions int) {
	told, ran := make(told, len(s.tool.plan.items)), map[string]*effectRun{}
	bare := *s.tool
	bare.style = native
	s.tool = &bare
	for i, it := range s.tool.plan.items {
		if it.effect != "" {
			if !w.effect(p, s, i, ran, told) {
				return p, questions
			}
		}
		for _, q := range it.ask {
			read, asked, reason := l.put(q)
			questions += asked
			if reason != "" {
				p.stop(reason)
				return p, questions
			}
			told.answer(i, q.key, read)
		}
	}
	p.complete(s, told)
	return p, questions
}

// put asks one question over the session until its answer fits.
func (l *legacyCall) put(q *question) (read string, asked int, reason string) {
	if !declares(l.who.caps, q.medium) {
		if q.lenient {
			return q.refused, 0, ""
		}
		return "", 0, stopCannotAsk
	}
	for asked <= mostTries {
		m := l.manner(q, asked)
		asked++
		if m == missing {
			return "", asked, stopNoAnswer
		}
		switch v, read := q.judge(m); v {
		case answer:
			return read, asked, ""
		case refusal:
			return "", asked, string(m)
		}
	}
	return "", asked, stopUnanswered
}

func sortAsked(all []asked) {
	slices.SortFunc(all, func(a, b asked) int { return strings.Compare(a.key, b.key) })
}
