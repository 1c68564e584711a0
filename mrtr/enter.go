package mrtr

import (
	"cmp"
	"context"

	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// Each handler runs on its own goroutine, and a guard there records how it returned.

// enterer runs a handler.
type enterer interface {
	enter(ctx context.Context, p *Pass) (need *IncompleteResult, value any, err error)
}

// advanceGuarded enters the handler, and waits for it.
func (r *round) advanceGuarded() (keep.Outcome, error) {
	g, ok := r.target.rt.guards.Get().(*guardedRound)
	if !ok {
		g = newGuardedRound()
	}
	g.round = r
	go g.run()
	err := <-g.ended
	out := g.out
	g.round, g.out = nil, keep.Outcome{}
	r.target.rt.guards.Put(g)
	return out, err
}

// guardedRound is the guard around round.advance. It is reused, so that a round allocates
// nothing for it.
type guardedRound struct {
	run   func()
	ended chan error
	round *round
	out   keep.Outcome
}

func newGuardedRound() *guardedRound {
	g := &guardedRound{ended: make(chan error, 1)}
	enter := func() (err error) { g.out, err = g.round.advance(); return err }
	end := func(err error) { g.ended <- err }
	g.run = func() {
		stack.Grow[[4 << 10]byte]()
		guarded(enter, end)
	}
	return g
}

// advance enters the handler until it completes, or needs an answer that it does not have. It
// enters again at once if the user need not be asked: each question got its default, or is
// lenient.
func (r *round) advance() (keep.Outcome, error) {
	if style := r.st.style; style != "" && style != r.target.print && !r.target.continues(style) {
		return keep.Outcome{}, r.target.difference(new(Pass).begin(&r.ledger))
	}
	limit := r.maxAsks()
	r.locked(func() { r.entered = true })
	p := &r.first
	if p.at.Load() != nil { // it ran before
		p = new(Pass)
	}
	p.begin(&r.ledger)
	for range limit + 1 {
		need, value, err := r.handler.enter(r.life, p)
		p = p.current()
		switch {
		case p.mistake != nil:
			return keep.Outcome{}, p.mistake
		case r.refused && (need != nil || err != nil):
			return r.askAgain()
		case err != nil:
			return keep.Outcome{}, err
		}
		if err := p.unmet(); err != nil {
			return keep.Outcome{}, cmp.Or(r.misworded(need), err)
		}
		if need == nil {
			for _, fn := range p.complete {
				fn(r.life)
			}
			return r.complete(value), nil
		}
		settled, err := r.take(p, need)
		if err != nil {
			return keep.Outcome{}, err
		}
		if !settled {
			return r.suspend(true)
		}
		p = new(Pass).begin(&r.ledger)
	}
	return keep.Outcome{}, tooManyRounds(limit)
}

// complete is the outcome of a call that is complete. Its value is encoded here, in the guard: the
// author's methods may panic.
func (r *round) complete(value any) (o keep.Outcome) {
	if o.Value = value; r.keeps {
		r.target.keep(&o)
	}
	return o
}

// maxQuestions bounds the questions of one round.
const maxQuestions = 16

// take makes the handler's questions pending. Those that this client cannot be asked are
// settled at once. It reports whether all are.
func (r *round) take(p *Pass, need *IncompleteResult) (settled bool, _ error) {
	var few [fewQuestions]*question.Spec
	specs, err := specsOf(few[:0], need.questions)
	switch {
	case err != nil:
		return false, err
	case len(specs) == 0:
		return false, misuse("an incomplete result that asks nothing")
	case len(specs) > maxQuestions:
		return false, limitExceeded(maxQuestions, "questions in one round")
	}
	if err := r.mayAsk(p, specs); err != nil {
		return false, err
	}
	r.st.pending = make([]question.Pending, len(specs))
	settled = true
	for i, s := range specs {
		q := &r.st.pending[i]
		*q = question.Open(s)
		if q.Reworded, err = r.reword(s); err != nil {
			return false, err
		}
		if q.Answer = r.known.take(s); q.Answered() {
			continue
		}
		standIn, err := r.gate(s)
		switch {
		case err != nil:
			r.report(s, listen.HowNotAsked)
			return false, err
		case standIn != nil:
			r.report(s, question.HowStandIn(standIn))
		}
		q.Answer = standIn
		settled = settled && q.Answered()
	}
	if !settled {
		return false, nil
	}
	return true, r.file()
}

// mayAsk returns an error for questions that must not be asked now: two in other words under
// one key, or questions that were just answered, if the handler read none of the answers. Its
// guards then look under other keys, and would ask until the call has too many rounds.
func (r *round) mayAsk(p *Pass, specs []*question.Spec) (err error) {
	p.locked(func(l *ledger) {
		ignored := ""
		for _, s := range specs {
			e := l.st.done.answer(s.Key)
			switch {
			case e == nil || l.freshOf(s.Key) == nil || !e.answers(s):
			case p.hasRead(s.Key):
				ignored = ""
				return
			case ignored == "":
				ignored = s.Key
			}
		}
		if ignored != "" {
			err = misuse("question %q was just answered and is asked again, but the handler did not read its answer: does it read another key?", ignored)
		}
	})
	for _, s := range specs {
		if err != nil {
			break
		}
		p.locked(func(l *ledger) { err = p.opens(l, s) })
	}
	return err
}

// reword counts how many times in a row a question was worded anew, right after its answer. To
// go on with that would ask for ever. Where an effect stands on the answer the call ends.
func (r *round) reword(s *question.Spec) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.st.done.answer(s.Key)
	if e == nil || e.answers(s) {
		return 0, nil
	}
	if r.st.done.standsOn(s.Key) {
		return 0, r.diverged("question %q is not worded as it was", s.Key)
	}
	last := r.freshOf(s.Key)
	switch {
	case last == nil || r.st.isDeployed(r.target.version):
		return 0, nil
	case e.reworded > 0:
		return 0, misuse("question %q is worded anew in every round, so that no answer is to its words: it was %q, and is %q. Leave out what changes, or add AnyWords", s.Key, last.Message, s.Message)
	}
	return e.reworded + 1, nil
}

// misworded returns an error for a question that is worded anew though an effect stands on its
// answer: which says more than that the effect is not met.
func (r *round) misworded(need *IncompleteResult) (err error) {
	if need == nil {
		return nil
	}
	for _, q := range need.questions {
		if q == nil || q.asking() == nil || err != nil {
			continue
		}
		_, err = r.reword(q.asking())
	}
	return err
}

// askAgain opens the questions of this round again, because the handler could not read an
// answer. That answer stays unread until another has replaced it.
func (r *round) askAgain() (keep.Outcome, error) {
	r.mu.Lock()
	r.st.pending, r.fresh = r.fresh, nil
	var refused []string
	var err error
	for i := range r.st.pending {
		p := &r.st.pending[i]
		if p.RefusedBy == "" {
			continue
		}
		refused = append(refused, p.Key)
		if r.st.done.standsOn(p.Key) && err == nil {
			err = r.diverged("the answer to question %q is refused by its type, below an effect: read it above", p.Key)
		}
		if e := endOfQuestion(p.Again(p.RefusedBy)); e != nil && err == nil {
			err = e
		}
		p.RefusedBy = ""
	}
	r.refused = false
	r.mu.Unlock()
	r.locked(func() {
		for _, key := range refused {
			r.hear(listen.Entry{Kind: listen.Refused, Key: key, Reason: "its type refuses it"})
		}
	})
	if err != nil {
		return keep.Outcome{}, err
	}
	return r.suspend(true)
}
