package mrtr

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// judge settles the pending questions of a round by the answers that came back, and reports
// whether all of them have one; then they are filed. An answer is judged by its question as
// that was sent. A decline ends the call, unless the question is lenient. The others are judged
// all the same: what came names the round, whichever of the answers ends it.
//
// The work on one answer is bounded by its question and its size. It is not begun for a client
// that has hung up.
func (l *ledger) judge(ctx context.Context) (settled bool, _ error) {
	var ended error
	for i := range l.st.pending {
		p := &l.st.pending[i]
		if p.Answered() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := l.judgeAnswer(ctx, p); err != nil && ended == nil {
			ended = err
		}
	}
	if ended != nil {
		return false, ended
	}
	return l.gateAgain()
}

// isLate reports whether the answer to a question came after its deadline. Another instance
// may have set that, whose clock is not this one's: the doubt is in the user's favour.
func (l *ledger) isLate(p *question.Pending) bool {
	if p.Lapses == 0 {
		return false
	}
	if l.asOf.IsZero() {
		l.asOf = time.Now()
	}
	return p.IsLate(l.asOf.Add(-l.target.rt.skew))
}

func (l *ledger) judgeAnswer(ctx context.Context, p *question.Pending) error {
	refused, err := p.Judge(ctx, l.ex.answers[p.Key], l.target.rt.opts.Limits.MaxStateBytes/2, l.isLate(p), l.isPunctual())
	if refused != "" {
		l.locked(func() { l.hear(listen.Entry{Kind: listen.Refused, Key: p.Key, Reason: refused}) })
	}
	return endOfQuestion(err)
}

// isPunctual reports whether late answers have been left out already: a legacy client's
// session and a task know by themselves which came in time.
func (l *ledger) isPunctual() bool { return l.ex.asked || isTask(l.life) }

// gateAgain decides of every question that is left whether this round's client can be asked
// it, since it may have declared less than the client of the round before.
func (l *ledger) gateAgain() (settled bool, _ error) {
	settled = true
	for i := range l.st.pending {
		p := &l.st.pending[i]
		if p.Answered() {
			continue
		}
		standIn, err := l.gate(p.Spec)
		if err != nil {
			l.report(p.Spec, listen.HowNotAsked)
			return false, err
		}
		p.StandIn(standIn)
		settled = settled && p.Answered()
	}
	if !settled {
		return false, nil
	}
	return true, l.file()
}

// file moves the answers of a settled round into the history, in the order of the questions.
// The call ends where an effect stands on another answer.
func (l *ledger) file() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.st.pending {
		p := &l.st.pending[i]
		a := entry{kind: listen.Answered, key: p.Key, asked: p.Spec, value: p.Answer, reworded: p.Reworded}
		if old := l.st.done.answer(p.Key); old != nil && !a.repeats(old) && l.st.done.standsOn(p.Key) {
			return l.diverged("question %q is answered otherwise than before", p.Key)
		}
		l.st.done = l.st.done.file(a)
	}
	if l.fresh == nil {
		l.fresh = l.st.pending
	} else {
		l.fresh = append(l.fresh, l.st.pending...)
	}
	l.st.pending = nil
	return nil
}

// reportAnswers tells the listener how the questions of this round were answered: as says,
// unless that is "".
func (l *ledger) reportAnswers(as string) {
	if l.target.rt.opts.Listener == nil {
		return
	}
	l.locked(func() {
		for _, round := range [][]question.Pending{l.fresh, l.st.pending} {
			for i := range round {
				p := &round[i]
				if p.How == "" {
					continue
				}
				how := p.How
				if as != "" {
					how = as
				}
				l.hear(listen.Entry{Kind: listen.Answered, Key: p.Key, How: how, Words: p.Words()})
				p.How = ""
			}
		}
	})
}

// report tells the listener how a question was answered.
func (l *ledger) report(s *question.Spec, how string) {
	if l.target.rt.opts.Listener != nil {
		l.locked(func() { l.hear(listen.Entry{Kind: listen.Answered, Key: s.Key, How: how, Words: s.Words()}) })
	}
}
