package mrtr

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/sse"
)

// AskOver asks q over a session from before revision 2026-07-28, where the
// handler can wait for the answer in place. An answer that does not fit is
// asked for again, three times at most ([Unanswered]); a no is a [Declined]
// error and a client that cannot be asked a [Refused] one, unless the question
// takes that for an answer.
//
// A modern session cannot be asked so: there, return [Need].
func (q Question[T]) AskOver(ctx context.Context, s *mcp.ServerSession) (T, error) {
	var none T
	if q.known != nil {
		return *q.known, nil
	}
	if err := q.Err(); err != nil {
		return none, err
	}
	p := pending{spec: *q.spec}
	for !p.settled() {
		request, err := p.request(p.note)
		if err != nil {
			return none, err
		}
		answers, err := sse.Ask(ctx, s, mcp.InputRequestMap{p.key: request}, nil)
		if err != nil {
			if err = p.unasked(err); err != nil {
				return none, err
			}
			continue
		}
		if err := p.judge(answers[p.key]); err != nil {
			return none, err
		}
	}
	return decodeAnswer[T](p.answer, p.key)
}

// unasked judges a question that did not reach its user.
func (p *pending) unasked(err error) error {
	var failed *sse.Error
	if !errors.As(err, &failed) || failed.Reason != sse.Undeclared && failed.Reason != sse.Unreachable {
		return err
	}
	if p.lenient {
		p.answer = null
		return nil
	}
	if failed.Reason == sse.Unreachable {
		return &Error{Reason: CannotBeAsked, Key: p.key, Detail: aStream}
	}
	capability, _ := p.needs(era.Client{})
	return &Error{Reason: CannotBeAsked, Key: p.key, Detail: capability.name}
}
