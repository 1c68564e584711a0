package mrtr

import (
	"context"
	"crypto/sha256"
	"encoding/base64"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// Call is one logical call of a tool, prompt or resource, through all of its rounds. A handler
// gets it in each round. Request, session, client and principal are those of that round.
//
// A Call may be used from several goroutines. It must not be used after the handler has
// returned.
type Call struct{ pass *Pass }

// ID identifies the call in all of its rounds. It is minted in the first.
func (c *Call) ID() (id string) { c.pass.locked(func(l *ledger) { id = l.st.id }); return id }

// Round counts from one.
func (c *Call) Round() (n int) { c.pass.locked(func(l *ledger) { n = l.st.round }); return n }

// Modern reports whether this round's client speaks revision 2026-07-28 or later, and so can
// be asked by an incomplete result.
func (c *Call) Modern() bool { return c.Client().Era == era.Modern }

// Client describes this round's client: its era, and the questions that it declared it can be
// asked.
func (c *Call) Client() (client era.Client) {
	c.pass.locked(func(l *ledger) { client = l.ex.client })
	return client
}

// Principal identifies the caller, as [Options.Principal] does; "" if unknown.
func (c *Call) Principal() (who string) {
	c.pass.locked(func(l *ledger) { who = l.principal })
	return who
}

// Session is the session of this round's request.
func (c *Call) Session() (s *mcp.ServerSession) {
	c.pass.locked(func(l *ledger) { s = l.ex.session() })
	return s
}

// Request is this round's request, as go-sdk gave it.
func (c *Call) Request() (req mcp.Request) {
	c.pass.locked(func(l *ledger) { req = l.ex.request })
	return req
}

// OnComplete runs fn when the call completes, just before its result goes out, and only then:
// not after an error, a decline, or a round that asks. A handler that is entered again
// registers afresh; a held one keeps its registrations.
func (c *Call) OnComplete(fn func(context.Context)) {
	c.pass.locked(func(*ledger) { c.pass.complete = append(c.pass.complete, fn) })
}

// Answer reads the answer to q. It is false if there is none yet, or none to these words: an
// answer belongs to the message that it was given to, and a choice to its label. The handler
// then returns [Need](q). A key stands for one question in each run of a handler: two
// questions under one key are a [UsageError].
//
//	place, ok := mrtr.Answer(c, which)
//	if !ok {
//		return mrtr.Need(which), nil, nil
//	}
//	// Above the guard runs in every round; below it, once there is an answer.
func Answer[T any](c *Call, q Question[T]) (v T, ok bool) {
	if q.known != nil {
		return *q.known, true
	}
	if q.Err() != nil {
		return v, false
	}
	for {
		value, ok := c.pass.answer(q.spec)
		if !ok {
			return v, false
		}
		if v, ok := readAnswer[T](c.pass, value, q.spec.key); ok || c.pass.asker == nil || !c.pass.asker.Again(q) {
			return v, ok
		}
	}
}

// IncompleteResult is the result of a guarded handler that cannot finish yet: questions for
// the user. The client asks, and calls the tool again from the top.
//
// On the wire it is the InputRequiredResult of revision 2026-07-28 (resultType
// "input_required"). The name here is that of the revision's drafts.
type IncompleteResult struct {
	questions []AnyQuestion
	one       [1]AnyQuestion // where most results have their questions
}

// Need asks all the given questions in one round. Those that are [Known] are skipped; one that
// has been answered before is asked anew, and its answer replaced. The handler is entered
// again when every question has an answer.
func Need(questions ...AnyQuestion) *IncompleteResult {
	r := &IncompleteResult{}
	r.questions = append(r.one[:0], questions...)
	return r
}

// Await waits for the answers to questions that have none yet, all in one round. Only handlers
// of a style that can wait may call it, such as those of package linear.
func (c *Call) Await(questions ...AnyQuestion) error {
	specs, err := specsOf(nil, questions)
	if err != nil || len(specs) == 0 {
		return err
	}
	asked := make([]AnyQuestion, len(specs))
	for i, s := range specs {
		asked[i] = s
	}
	if c.pass.asker != nil {
		return c.pass.asker.Await(asked)
	}
	for _, q := range asked {
		if !c.pass.Answered(q) {
			return misuse("question %q is not answered yet, and this handler cannot wait: read it with Answer and return Need", q.Key())
		}
	}
	return nil
}

// ElicitationID names the visit that an [ElicitURL] question of this call asks for: in every
// round, in every instance, and however often it is asked again. Put it into the address, so
// that the page there knows which visit it ends. A legacy client is sent it as elicitationId; in
// revision 2026-07-28 there is no such field.
//
// Nobody can guess it. It is in the address, so it proves nothing about who comes with it: a page
// that acts for a user has to know the user by other means, and compare with [Call.Principal].
func (c *Call) ElicitationID(key string) string { return elicitationID(c.ID(), key) }

func elicitationID(call, key string) string {
	sum := sha256.Sum256([]byte("elicitation\x00" + call + "\x00" + key))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
