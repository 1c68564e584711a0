package mrtr

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
)

// A question with a deadline ([Question.Within]) has it in the state, with the default that
// then stands in, so that any instance can tell silence from an answer.
//
// A request of round trips has its answers as of when it came. Sent again, it comes later:
// where its round is claimed already, it is judged as of the time that fits the claim, so
// that an answer which came in time once is not silence the second time. A legacy client's
// session and a task know by themselves which answers came in time, and leave out the others.

// arrival is how the answers of a request came, where a question has a deadline.
type arrival struct {
	at       time.Time
	punctual bool // those that came late are left out

	before *state // they were judged, nil unless another time may have to judge them
}

// arrive is nil where no question has a deadline.
func (l *ledger) arrive() *arrival {
	if l.st.deadlines() == nil {
		return nil
	}
	a := &arrival{at: time.Now(), punctual: l.ex.legacy != nil || rendezvous.TaskRoundOf(l.life).IsTask()}
	if l.remembered() && !a.punctual {
		a.before = l.st.unjudged()
	}
	return a
}

// isLate reports whether the deadline of a question had passed when its answer came.
func (a *arrival) isLate(p *pending) bool {
	return p.lapses != 0 && !a.at.Before(time.UnixMilli(p.lapses))
}

// deadlines are those of the questions that go out, nil where none has one.
func (st *state) deadlines() (until map[string]time.Time) {
	for i := range st.pending {
		p := &st.pending[i]
		if p.lapses == 0 || p.settled() {
			continue
		}
		if until == nil {
			until = map[string]time.Time{}
		}
		until[p.key] = time.UnixMilli(p.lapses)
	}
	return until
}

// tellTask tells a task of the deadlines of its questions.
func (c *Call) tellTask(st *state) {
	until := st.deadlines()
	if until == nil {
		return
	}
	if r := rendezvous.TaskRoundOf(c.life); r != nil {
		r.AnswerBy(until)
	}
}

// otherTimes are the times as of which the answers of this round may mean something else
// than now: before the first deadline, and at each.
func (st *state) otherTimes() []time.Time {
	at := slices.SortedFunc(maps.Values(st.deadlines()), time.Time.Compare)
	if len(at) == 0 {
		return nil
	}
	return append(at, at[0].Add(-time.Millisecond))
}

// rejudge judges the answers as of another time. It is false where the round would then ask
// again.
func (c *Call) rejudge(ctx context.Context, at time.Time) (ended error, claims bool) {
	c.mu.Lock()
	c.st, c.answered, c.arrival.at = *c.arrival.before.unjudged(), nil, at
	c.mu.Unlock()
	settled, ended := c.judgeAnswers(ctx)
	return ended, settled || ended != nil && endedByAnswers(ended)
}

// claimAnswers claims the turn for the answers of this round: as they are judged now, or else
// as an equal request was judged that claimed it. judged is how they then end the call.
func (c *Call) claimAnswers(ctx context.Context, ended error) (turn claim.Turn, answer claim.Answer, judged, err error) {
	turns := c.rt.memory.turns
	turn = c.turn(c.answersOf(ended))
	answer, err = turns.Take(ctx, turn)
	if c.arrival == nil || c.arrival.before == nil || !errors.Is(err, claim.ErrOtherwise) {
		return turn, answer, ended, err
	}
	for _, at := range c.arrival.before.otherTimes() {
		judged, claims := c.rejudge(ctx, at)
		if !claims {
			continue
		}
		turn = c.turn(c.answersOf(judged))
		if answer, err = turns.Take(ctx, turn); !errors.Is(err, claim.ErrOtherwise) {
			return turn, answer, judged, err
		}
	}
	return turn, answer, ended, err
}
