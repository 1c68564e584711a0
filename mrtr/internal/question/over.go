package question

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// NeedsSession is lacking where a client has no session that can carry a question.
const NeedsSession = "protocol revision 2026-07-28, or a session that can carry a question"

// maxAnswerOver bounds an answer that comes over a session, which no state has to hold.
const maxAnswerOver = 16 << 10

// AskOver puts the question to a legacy client once, over its session. It returns how the client
// answered, "" where it did not, and an [End] or an [sse.Error].
func (p *Pending) AskOver(ctx context.Context, s *mcp.ServerSession, client era.Client) (how string, _ error) {
	requests, err := Requests([]Pending{{Spec: p.Spec, Note: p.Note}}, era.Modern, "")
	if err != nil {
		return "", err
	}
	o := &sse.BridgeOptions{}
	if p.Lapses != 0 {
		o.AnswerTimeout = max(time.Until(p.deadline()), time.Nanosecond)
	}
	var answers mcp.InputResponseMap
	if client.Era == era.Legacy && !client.Declared(p.Kind.Capability()) { // Options.Narrow may have taken it away
		err = &sse.Error{Reason: sse.Undeclared, Key: p.Key}
	} else {
		answers, err = sse.Ask(ctx, s, requests, o)
	}
	if err != nil {
		return p.unasked(err)
	}
	Keep([]Pending{*p})
	response := answers[p.Key]
	if err = p.take(ctx, response, maxAnswerOver); response == nil {
		return "", err
	}
	return p.howAnswered(response, err), err
}

// unasked settles a question whose deadline has passed, and a lenient one that its client
// cannot be asked. Any other failure ends the call.
func (p *Pending) unasked(err error) (how string, _ error) {
	var failed *sse.Error
	switch {
	case !errors.As(err, &failed):
		return listen.HowNotAsked, err
	case failed.Reason == sse.TimedOut && p.Lapses != 0:
		return listen.HowSilence, p.lapse()
	case failed.Reason != sse.Undeclared && failed.Reason != sse.Unreachable:
		return listen.HowNotAsked, err
	case p.Lenient:
		p.Answer = p.Unasked()
		return listen.HowNotAsked, nil
	case failed.Reason == sse.Unreachable:
		return listen.HowNotAsked, &End{Outcome: CannotBeAsked, Key: p.Key, Detail: NeedsSession}
	}
	return listen.HowNotAsked, &End{Outcome: CannotBeAsked, Key: p.Key, Detail: p.Kind.Capability().String()}
}
