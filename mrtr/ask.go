package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// Answer reads the answer to q, in a guarded handler. It is false when there is
// none yet: the handler then returns [Need](q). It never blocks, and nothing that
// a client sends can make it panic, since every answer was judged by its question
// as that was asked. A [Confirm] that has been reworded since counts as not
// answered: a yes to the earlier wording is not a yes to this one. So does, after a
// deployment, an answer to other words that has just come, and a choice that is no
// longer offered. A key stands for one question in one entry of the handler: two in
// other words end the call with a [UsageError] that names it.
//
//	place, ok := mrtr.Answer(c, which)
//	if !ok {
//		return mrtr.Need(which), nil, nil
//	}
//	// Above the guard runs in every round; below it, once there is an answer.
func Answer[T any](c *Call, q Question[T]) (T, bool) {
	if q.known != nil {
		return *q.known, true
	}
	var none T
	if q.Err() != nil {
		return none, false
	}
	var e entry
	stands := false
	c.mu.Lock()
	found := c.st.done.answer(q.spec.key)
	stopped := c.phase == stopping
	if found != nil && !c.hides(found) {
		found.noteRead()
		e, stands = *found, stopped || c.stillValid(found, q.spec) && c.means(found, q.spec)
	} else {
		c.lookFor(q.spec)
	}
	c.mu.Unlock()
	if !stands || q.spec.confirms && !stopped && e.wording() != q.spec.digest() {
		return none, false
	}
	v, err := decodeAnswer[T](e.value, q.spec.key)
	if err == nil {
		return v, true
	}
	// As a rule the answer was judged by its type before the handler was entered, but
	// not in a process that had not made such a question yet.
	note := refusalBy(func(answer json.RawMessage, key string) error {
		_, err := decodeAnswer[T](answer, key)
		return err
	}, e.value, q.spec.key)
	if c.refuseAnswer(q.spec.key, note) {
		if run := c.run(); run != nil && onLinearRun() {
			run.unwind(errRefused)
		}
	}
	return none, false
}

// means notes the question that the handler reads an answer with. Where it has read it
// with another one in this entry, the call ends with that mistake, whatever the handler
// makes of it. The caller holds c.mu.
func (c *Call) means(e *entry, q *spec) bool {
	asked := c.linear == nil || e.meant != nil || e.wording() == q.digest() // in an earlier round of this entry
	if asked && e.mean(q) {
		return true
	}
	c.mistaken(twice(q.key, "questions"))
	return false
}

// lookFor notes a question that the handler looks for and that has no answer yet. The
// caller holds c.mu.
func (c *Call) lookFor(q *spec) {
	if last := c.looked; last != nil && last.key == q.key && !last.sameWords(q) {
		c.mistaken(twice(q.key, "questions"))
	}
	c.looked = q
}

// otherWords returns an error for a question that the handler has looked for in other
// words in this entry. The caller holds c.mu.
func (c *Call) otherWords(specs []*spec) error {
	for _, sp := range specs {
		meant := c.looked
		if e := c.st.done.answer(sp.key); e != nil {
			meant = e.meant
		}
		if meant != nil && meant.key == sp.key && !meant.sameWords(sp) {
			return twice(sp.key, "questions")
		}
	}
	return nil
}

// Ask asks q and returns its answer, in linear code ([Coroutine], [Journal],
// [Resumable]). The handler stops here until there is one. When the user declines
// or dismisses the question, the call ends: deferred functions run, and Ask does
// not return.
//
// It returns a [UsageError], and asks nothing, when q is wrong ([Question.Err]),
// when it is called from another goroutine than the handler's, and in a guarded
// handler that has no answer yet ([UnaskedError]).
func Ask[T any](ctx context.Context, c *Call, q Question[T]) (T, error) {
	var none T
	if err := AskAll(ctx, c, q); err != nil {
		return none, err
	}
	v, ok := Answer(c, q)
	switch {
	case ok:
		return v, nil
	case c.run() != nil:
		return none, c.diverged("the answer to question %q is of another type", q.Key())
	}
	return none, unasked([]AnyQuestion{q})
}

// AskAll asks several questions in one round. Their answers are then read
// with [Answer].
func AskAll(ctx context.Context, c *Call, questions ...AnyQuestion) error {
	specs, err := specsOf(make([]*spec, 0, len(questions)), questions)
	if err != nil || len(specs) == 0 {
		return err
	}
	if run := c.run(); run != nil {
		return run.await(c, specs)
	}
	for _, sp := range specs {
		c.mu.Lock()
		e := c.st.done.answer(sp.key)
		if e != nil {
			e.noteRead()
		}
		c.mu.Unlock()
		if e == nil {
			return unasked(questions)
		}
	}
	return nil
}

// run is the linear run that this is the call of, nil in other styles.
func (c *Call) run() *linearRun {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.linear
}

// AskOver asks q over the session of a legacy client, where the handler can wait
// for the answer in place. An answer that does not fit is asked for again, three
// times at most; so is one of more than 16 KiB. The call ends with an [Error] when the user declines or dismisses
// the question, and when this client cannot be asked, unless q is a [Confirm] or
// [Optional]. A session that fails gives an [sse.Error].
//
// The session of a modern client cannot be asked: there, return [Need].
func (q Question[T]) AskOver(ctx context.Context, s *mcp.ServerSession) (T, error) {
	var none T
	if q.known != nil {
		return *q.known, nil
	}
	if err := q.Err(); err != nil {
		return none, err
	}
	asks := state{}
	asks.open([]*spec{q.spec})
	p := asks.pending[0]
	client := clientOver(ctx, s)
	ctx = rendezvous.CollectMisfits(ctx)
	for !p.settled() {
		request, err := p.request(p.note, client)
		if err != nil {
			return none, err
		}
		answers, err := askOver(ctx, s, client, &p, request)
		if err != nil {
			err = p.standIn(err)
			reportOver(ctx, &p, nil, err)
			if err != nil {
				return none, err
			}
			continue
		}
		if p.form != nil { // the other kinds of question have none
			form.Keep(p.schema, p.form)
		}
		err = p.judge(ctx, client, answers[p.key], maxAnswerOver)
		if answers[p.key] != nil {
			reportOver(ctx, &p, answers[p.key], err)
		}
		if err != nil {
			return none, err
		}
	}
	return decodeAnswer[T](p.answer, p.key)
}

// askOver puts one question to a legacy client. [Options.Narrow] may have taken away what
// its session declares.
func askOver(ctx context.Context, s *mcp.ServerSession, client era.Client, q *pending, request mcp.InputRequest) (mcp.InputResponseMap, error) {
	if client.Era == era.Legacy && !client.Declared(q.kind.capability()) {
		return nil, &sse.Error{Reason: sse.Undeclared, Key: q.key}
	}
	o := &sse.BridgeOptions{}
	if q.lapses != 0 {
		o.AnswerTimeout = max(time.Until(time.UnixMilli(q.lapses)), time.Nanosecond)
	}
	return sse.Ask(ctx, s, mcp.InputRequestMap{q.key: request}, o)
}

// standIn settles a question whose deadline has passed, and a lenient one that its client
// cannot be asked. Any other failure ends the call.
func (p *pending) standIn(err error) error {
	var failed *sse.Error
	if errors.As(err, &failed) && failed.Reason == sse.TimedOut && p.lapses != 0 {
		return p.lapse()
	}
	if failed == nil || failed.Reason != sse.Undeclared && failed.Reason != sse.Unreachable {
		return err
	}
	switch {
	case p.lenient:
		p.settle(p.outcome(notAsked))
		return nil
	case failed.Reason == sse.Unreachable:
		return cannotBeAsked(p.key, needsSession)
	}
	return cannotBeAsked(p.key, p.kind.capability().String())
}

// fewQuestions are few enough to be looked through for one of the same key.
const fewQuestions = 8

// specsOf appends the specs of the questions, without those that are Known.
func specsOf(specs []*spec, questions []AnyQuestion) ([]*spec, error) {
	var seen map[string]bool
	if len(questions) > fewQuestions {
		seen = make(map[string]bool, len(questions))
	}
	for _, q := range questions {
		if q == nil {
			return nil, misuse("a question is nil")
		}
		if err := q.Err(); err != nil {
			return nil, err
		}
		s := q.asking()
		if s == nil {
			continue
		}
		again := seen[s.key]
		if seen != nil {
			seen[s.key] = true
		} else {
			again = slices.ContainsFunc(specs, func(other *spec) bool { return other.key == s.key })
		}
		if again {
			return nil, twice(s.key, "questions")
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// decodeAnswer reads the answer to the question named key. The outcome of a lenient
// question without one reads as the zero value, unless T tells outcomes apart.
func decodeAnswer[T any](value json.RawMessage, key string) (T, error) {
	if readsOutcome[T]() {
		return decodeOutcome[T](value, key)
	}
	if isOutcome(value) {
		var none T
		return none, nil
	}
	return form.Decode[T](value, key)
}

func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// IncompleteResult is the result of a guarded handler that cannot finish yet:
// questions for the user, a value to carry into the next round, or both. The
// client asks, and calls the tool again from the top.
//
// On the wire it is the InputRequiredResult of revision 2026-07-28 (resultType
// "input_required"). The name here is that of the revision's drafts.
type IncompleteResult struct {
	questions []AnyQuestion
	one       [1]AnyQuestion // where most results have their questions
	author    any
	carries   bool
}

// Need asks all the given questions in one round. Those that are [Known] are
// skipped; one that has been answered before is asked anew, and its answer
// replaced. The handler is entered again when every question has an answer.
func Need(questions ...AnyQuestion) *IncompleteResult {
	r := &IncompleteResult{}
	r.questions = append(r.one[:0], questions...)
	return r
}

// Carry hands v to the rounds that follow, where [Carried] reads it. It is
// sealed into the state as JSON, and stays until another Carry replaces it;
// Carry(nil) drops it. Without a question the client calls again at once, which a
// call may do twice.
func (r *IncompleteResult) Carry(v any) *IncompleteResult {
	r.author, r.carries = v, true
	return r
}

// Carried reads the value that an earlier round of this call carried. It is false
// in the first round, after Carry(nil), and where T is another type, or one that lost a
// field in a deployment.
func Carried[T any](c *Call) (v T, ok bool) {
	c.mu.Lock()
	author := c.st.author
	c.mu.Unlock()
	if isNull(author) || c.lost(author, new(T)) != "" || json.Unmarshal(author, &v) != nil {
		var none T
		return none, false
	}
	return v, true
}

// take makes the handler's questions pending, and settles at once those that this
// client cannot be asked. It reports whether that answered everything.
func (c *Call) take(need *IncompleteResult) (answered bool, _ error) {
	var few [fewQuestions]*spec
	specs, err := specsOf(few[:0], need.questions)
	if err != nil {
		return false, err
	}
	if need.carries {
		author, err := json.Marshal(need.author)
		if err != nil {
			return false, misuse("the carried value cannot be encoded: %v", err)
		}
		c.st.carry(author)
	} else if len(specs) == 0 {
		return false, misuse("an incomplete result that asks nothing and carries nothing")
	}
	if limit := c.rt.opts.MaxQuestions; len(specs) > limit {
		return false, limitExceeded(limit, "questions in one round")
	}
	if err := c.mayAskAnew(specs); err != nil {
		return false, err
	}
	c.st.open(specs)
	for i, s := range specs {
		if kept := c.takeKept(s.key); kept != nil {
			c.st.pending[i].settle(kept)
			continue
		}
		standIn, err := c.gateOrReport(s)
		if err != nil {
			return false, err
		}
		c.st.pending[i].settle(standIn)
	}
	if len(specs) == 0 {
		return false, nil
	}
	return c.file()
}

// mayAskAnew returns an error for a question that the handler looked for in other words,
// and for one that was just answered and is asked again, where the handler read none of
// the answers that it asks for again. Its guard then looks under another key, and would
// ask until the call has too many rounds.
func (c *Call) mayAskAnew(specs []*spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.otherWords(specs); err != nil {
		return err
	}
	if err := c.questionsHold(specs); err != nil {
		return err
	}
	key := ""
	for _, sp := range specs {
		switch e := c.st.done.answer(sp.key); {
		case e == nil || !e.fresh:
		case e.read:
			return nil
		case key == "":
			key = sp.key
		}
	}
	if key == "" {
		return nil
	}
	return misuse("question %q was just answered and is asked again, but the handler did not read its answer: does it read another key?", key)
}
