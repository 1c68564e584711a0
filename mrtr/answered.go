package mrtr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How a question was answered, in [Event.Answer].
const (
	AnswerAccepted  = "accepted"  // the user, or the client, gave an answer
	AnswerNo        = "no"        // the user answered a yes-or-no question with no
	AnswerDeclined  = "declined"  // the user declined to answer
	AnswerCancelled = "cancelled" // the user dismissed the question
	AnswerDefault   = "default"   // the client cannot be asked, and the question's Default stands in
	AnswerNotAsked  = "not asked" // the client cannot be asked, and there is no answer
	AnswerSilence   = "silence"   // nobody answered in time ([Question.Within]); a Default may stand in
	AnswerRepeated  = "repeated"  // the answer came in a request whose round an earlier one ran
)

// how is how a question was answered in this round.
type how uint8

const (
	notYet how = iota
	accepted
	saidNo
	declinedIt
	cancelledIt
	wasSilent
)

func (h how) String() string {
	return [...]string{"", AnswerAccepted, AnswerNo, AnswerDeclined, AnswerCancelled, AnswerSilence}[h]
}

// Wording identifies what a question shows its user, "" for [Known]: its message, its form and
// its address. [Event.Wording] is that of the question that was answered, so an audit can tell
// which words somebody agreed to.
func Wording(q AnyQuestion) string {
	if s := q.asking(); s != nil {
		return s.digest()
	}
	return ""
}

// answered is how a response answers its question, after it was judged.
func (p *pending) answered(response mcp.InputResponse, err error) how {
	if err == nil && !p.settled() || err != nil && !isNo(err) {
		return notYet
	}
	if r, ok := response.(*mcp.ElicitResult); ok && r != nil {
		switch r.Action {
		case "decline":
			return declinedIt
		case "cancel":
			return cancelledIt
		}
	}
	if len(p.answer) == len(p.key)+len(`{"":false}`) && bytes.HasSuffix(p.answer, []byte(`":false}`)) {
		return saidNo
	}
	return accepted
}

// isNo reports whether an error is that of a user who declined or dismissed a question.
func isNo(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Reason == Declined || e.Reason == Cancelled)
}

// reportAnswers tells the observer how the questions of this round were answered: as says,
// unless that is "".
func (c *Call) reportAnswers(ctx context.Context, as string) {
	if c.rt.observer == nil {
		return
	}
	round := c.answered
	if round == nil {
		round = c.st.pending
	}
	for i := range round {
		p := &round[i]
		if p.how == notYet {
			continue
		}
		c.report(ctx, p.spec, cmp.Or(as, p.how.String()))
		p.tell(notYet)
	}
}

// gateOrReport is gate for a question that is to be asked now. The observer is told if it is
// not.
func (c *Call) gateOrReport(s *spec) (standIn json.RawMessage, err error) {
	standIn, err = c.gate(s)
	switch {
	case err != nil, standIn != nil && isOutcome(standIn):
		c.report(c.life, s, AnswerNotAsked)
	case standIn != nil:
		c.report(c.life, s, AnswerDefault)
	}
	return standIn, err
}

func (c *Call) report(ctx context.Context, s *spec, answer string) {
	if c.rt.observer == nil {
		return
	}
	if seen := c.st.seen; seen != nil {
		seen.note(s.key, answer)
	}
	c.observe(ctx, Event{Kind: QuestionAnswered, Question: s.key, Answer: answer, Wording: s.digest()})
}

// callKey is the key of the call in the context of its round, for an observer's sake alone.
type callKey struct{}

// reportOver tells the observer of a call how a question was answered that its handler asked
// in place ([Question.AskOver]).
func reportOver(ctx context.Context, p *pending, response mcp.InputResponse, err error) {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		return
	}
	answer := p.answered(response, err).String()
	switch {
	case p.how == wasSilent:
		answer = AnswerSilence
	case response == nil && (err != nil || p.settled()):
		answer = AnswerNotAsked
	}
	if answer != "" {
		c.report(ctx, p.spec, answer)
	}
}
