package mrtr

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/sse/era"
)

// Call is one logical call of a tool, prompt or resource, through all of its rounds. A handler
// may use it from several goroutines, until it returns.
type Call struct {
	pass   *Pass
	prefix string // of the keys of its effects
}

// ID identifies the call in all of its rounds.
func (c *Call) ID() (id string) { c.pass.locked(func(l *ledger) { id = l.st.id }); return id }

// Round counts from one.
func (c *Call) Round() (n int) { c.pass.locked(func(l *ledger) { n = l.st.round }); return n }

// Modern reports whether this round's client is of revision 2026-07-28 or later, and is asked by
// a result.
func (c *Call) Modern() bool { return c.Client().Era == era.Modern }

// Client is this round's client: its era, and the questions it can be asked.
func (c *Call) Client() (client era.Client) {
	c.pass.locked(func(l *ledger) { client = l.ex.client })
	return client
}

// Principal identifies this round's caller; "" if unknown.
func (c *Call) Principal() (who string) {
	c.pass.locked(func(l *ledger) { who = l.principal })
	return who
}

// Session is that of this round's request.
func (c *Call) Session() (s *mcp.ServerSession) {
	c.pass.locked(func(l *ledger) { s = l.ex.session() })
	return s
}

// Request is this round's.
func (c *Call) Request() (req mcp.Request) {
	c.pass.locked(func(l *ledger) { req = l.ex.request })
	return req
}

// Detach makes the call a task from here on, where its [TaskPolicy] says Detached.
func (c *Call) Detach() {
	if r := rendezvous.TaskRoundOf(c.pass.at.Load().life); r != nil {
		r.Detach()
	}
}

// OnComplete runs fn just before the result of the call goes out, and only then. A handler that
// is entered again registers afresh.
func (c *Call) OnComplete(fn func(context.Context)) {
	c.pass.locked(func(*ledger) { c.pass.complete = append(c.pass.complete, fn) })
}

// Answer reads the answer to q. It is false if there is none to these words: an answer belongs to
// its message, and a choice to its label. Then return [Need](q). Two questions under one key are
// a [UsageError].
//
//	place, ok := mrtr.Answer(c, which)
//	if !ok {
//		return mrtr.Need(which), Out{}, nil
//	}
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
		if v, ok := readAnswer[T](c.pass, value, q.spec.Key); ok || c.pass.asker == nil || !c.pass.asker.Again(q) {
			return v, ok
		}
	}
}

// IncompleteResult has a handler's questions. On the wire it is an InputRequiredResult.
type IncompleteResult struct {
	questions []AnyQuestion
	one       [1]AnyQuestion // where most results have their questions
}

// Need asks questions in one round. One that has an answer is asked anew, unless it is [Known].
func Need(questions ...AnyQuestion) *IncompleteResult {
	r := &IncompleteResult{}
	r.questions = append(r.one[:0], questions...)
	return r
}

// Await waits for answers, in a style that can wait, such as those of package linear.
func (c *Call) Await(questions ...AnyQuestion) error {
	specs, err := specsOf(nil, questions)
	if err != nil || len(specs) == 0 {
		return err
	}
	asked := slices.DeleteFunc(slices.Clone(questions), func(q AnyQuestion) bool { return q.asking() == nil }) // those that are Known
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

// ElicitationID names the visit of an [ElicitURL] question, for its address. It proves nothing
// about who brings it: compare the page's user with [Call.Principal].
func (c *Call) ElicitationID(key string) string { return digest.VisitID(c.ID(), key) }

// decodeAnswer reads the answer to the question named key. The outcome of a lenient question
// without one reads as the zero value, unless T tells outcomes apart.
func decodeAnswer[T any](value json.RawMessage, key string) (T, error) {
	if readsOutcome[T]() {
		return decodeOutcome[T](value, key)
	}
	if question.IsOutcome(value) {
		var none T
		return none, nil
	}
	return form.Decode[T](value, key)
}

// outcomeReader is a type of answers that tells outcomes apart.
type outcomeReader interface {
	readOutcome(value json.RawMessage, key string) error
}

// readsOutcome reports whether T tells outcomes apart. It makes no T, which would be
// an allocation in every round.
func readsOutcome[T any]() bool {
	switch any((*T)(nil)).(type) {
	case outcomeReader, **mcp.ElicitResult:
		return true
	}
	return false
}

// reader reads an answer as T, for its error.
func reader[T any]() func(value json.RawMessage, key string) error {
	return func(value json.RawMessage, key string) error {
		_, err := decodeAnswer[T](value, key)
		return err
	}
}

func decodeOutcome[T any](value json.RawMessage, key string) (T, error) {
	v := new(T)
	if r, ok := any(v).(outcomeReader); ok {
		err := r.readOutcome(value, key)
		return *v, err
	}
	raw := &mcp.ElicitResult{Action: "accept"}
	var err error
	switch {
	case !question.IsOutcome(value):
		raw.Content, err = form.Decode[map[string]any](value, key)
	case question.OutcomeOf(value) == question.Declined:
		raw.Action = "decline"
	default:
		raw.Action = "cancel"
	}
	*any(v).(**mcp.ElicitResult) = raw
	return *v, err
}
