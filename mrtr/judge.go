package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
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
		if p.settled() {
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
func (l *ledger) isLate(p *pending) bool {
	if p.lapses == 0 {
		return false
	}
	if l.asOf.IsZero() {
		l.asOf = time.Now()
	}
	return !l.asOf.Add(-l.target.rt.skew).Before(time.UnixMilli(p.lapses))
}

// judgeAnswer judges one answer. It keeps the answer as it came too, whenever that was: equal
// requests claim their round with that, and the first of them decides whether it was late.
func (l *ledger) judgeAnswer(ctx context.Context, p *pending) error {
	response, asked := l.ex.answers[p.key], *p
	err := p.judge(ctx, response, l.target.rt.limits.MaxStateBytes/2)
	p.how, p.came = p.howAnswered(response, err), p.answer
	if err != nil && p.how != "" {
		p.came = json.RawMessage(p.how)
	}
	if l.isLate(p) && (!l.isPunctual() || err == nil && !p.settled()) {
		came := p.came
		*p = asked
		p.came = came
		return p.lapse()
	}
	if p.tries > asked.tries {
		l.locked(func() {
			l.hear(listen.Entry{Kind: listen.Refused, Key: p.key, Reason: refusalOf(ctx, p.key, response)})
		})
	}
	return err
}

// isPunctual reports whether late answers have been left out already: a legacy client's
// session and a task know by themselves which came in time.
func (l *ledger) isPunctual() bool { return l.ex.asked || isTask(l.life) }

// refusalOf tells the listener why an answer is asked for again. The note to the user may
// quote the answer.
func refusalOf(ctx context.Context, key string, answer mcp.InputResponse) string {
	if answer == nil {
		if _, came := rendezvous.MisfitOf(ctx, key); !came {
			return "it is missing"
		}
	}
	return "it does not fit"
}

// gateAgain decides of every question that is left whether this round's client can be asked
// it, since it may have declared less than the client of the round before.
func (l *ledger) gateAgain() (settled bool, _ error) {
	settled = true
	for i := range l.st.pending {
		p := &l.st.pending[i]
		if p.settled() {
			continue
		}
		standIn, err := l.gate(p.spec)
		if err != nil {
			l.report(p.spec, listen.HowNotAsked)
			return false, err
		}
		if p.answer = standIn; standIn != nil {
			p.how = howStandIn(standIn)
		}
		settled = settled && p.settled()
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
		a := entry{kind: listen.Answered, key: p.key, asked: p.spec, value: p.answer, reworded: p.reworded}
		if old := l.st.done.answer(p.key); old != nil && !a.repeats(old) && l.st.done.standsOn(p.key) {
			return l.diverged("question %q is answered otherwise than before", p.key)
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

func howStandIn(standIn json.RawMessage) string {
	if isOutcome(standIn) {
		return listen.HowNotAsked
	}
	return listen.HowDefault
}

// howAnswered is how a response answers its question, "" where it does not.
func (p *pending) howAnswered(response mcp.InputResponse, err error) string {
	reason := reasonOf(err)
	if err == nil && !p.settled() || err != nil && reason != Declined && reason != Cancelled {
		return ""
	}
	if r, ok := response.(*mcp.ElicitResult); ok && r != nil {
		switch r.Action {
		case "decline":
			return listen.HowDeclined
		case "cancel":
			return listen.HowCancelled
		}
	}
	if len(p.answer) == len(p.key)+len(`{"":false}`) && strings.HasSuffix(string(p.answer), `":false}`) {
		return listen.HowNo
	}
	return listen.HowAccepted
}

// reportAnswers tells the listener how the questions of this round were answered: as says,
// unless that is "".
func (l *ledger) reportAnswers(as string) {
	if l.target.rt.listener == nil {
		return
	}
	l.locked(func() {
		for _, round := range [][]pending{l.fresh, l.st.pending} {
			for i := range round {
				p := &round[i]
				if p.how == "" {
					continue
				}
				how := p.how
				if as != "" {
					how = as
				}
				l.hear(listen.Entry{Kind: listen.Answered, Key: p.key, How: how, Words: p.Words()})
				p.how = ""
			}
		}
	})
}

// report tells the listener how a question was answered.
func (l *ledger) report(s *spec, how string) {
	if l.target.rt.listener != nil {
		l.locked(func() { l.hear(listen.Entry{Kind: listen.Answered, Key: s.key, How: how, Words: s.Words()}) })
	}
}

// judge takes one response. Anything may have arrived: nothing, null, the response to another
// kind of question, an action nobody defined. An answer of more than limit bytes is asked for
// again.
func (p *pending) judge(ctx context.Context, response mcp.InputResponse, limit int) error {
	switch r := response.(type) {
	case *mcp.ElicitResult:
		if r == nil || p.kind != formKind && p.kind != urlKind {
			break
		}
		switch r.Action {
		case "accept":
			return p.accept(r.Content, limit)
		case "decline", "cancel":
			if p.lenient || p.tells {
				p.answer = p.outcome(r.Action)
				return nil
			}
			if r.Action == "cancel" {
				return &Error{Reason: Cancelled, Key: p.key}
			}
			return &Error{Reason: Declined, Key: p.key}
		}
		return p.again("Please accept, decline or cancel.")
	case *mcp.CreateMessageWithToolsResult:
		if r != nil && (p.kind == sampleKind || p.kind == toolsKind) {
			return store(p, r, limit)
		}
	case *mcp.ListRootsResult:
		if r != nil && p.kind == rootsKind {
			return store(p, r, limit)
		}
	case nil:
		return p.misfit(ctx)
	}
	return p.again("The answer was of another kind than the question.")
}

// misfit takes an answer that did not reach this package because it did not fit, or none.
func (p *pending) misfit(ctx context.Context) error {
	answer, came := rendezvous.MisfitOf(ctx, p.key)
	if !came {
		return p.again("")
	}
	f, err := form.Of(p.schema)
	if err != nil {
		return p.again("")
	}
	note := f.Misfit(answer.Properties).Error()
	if answer.Missing && f.LacksAll(answer.Properties) {
		return p.empty(note)
	}
	return p.again(note)
}

func (p *pending) accept(content map[string]any, limit int) error {
	if p.kind == urlKind {
		p.answer = json.RawMessage("{}")
		return nil
	}
	f, err := p.formOf()
	if err != nil {
		return err
	}
	answer, err := f.Accept(content, limit)
	switch {
	case err == nil:
		p.answer = answer
		return nil
	case len(content) == 0:
		return p.empty(err.Error())
	}
	return p.again(err.Error())
}

// notShown ends the note on an accept with nothing in it.
const notShown = " If you saw nothing to fill in, this client does not seem to show forms."

// empty takes an accept that has nothing of what the form requires. Many clients answer so
// because they show no forms, and to ask on would be in vain: the second in a row ends the
// call. Its note is in the state, and tells it from any other answer that did not fit.
func (p *pending) empty(note string) error {
	if strings.HasSuffix(p.note, notShown) {
		p.tries++
		return &Error{Reason: Unanswered, Key: p.key, Detail: "accepted twice with no required field filled in, so this client does not seem to show forms"}
	}
	return p.again(note + notShown)
}

// store keeps a sampling or roots result that survives a round trip through JSON. Any other is
// asked for again.
func store[R any](p *pending, result *R, limit int) error {
	value, err := json.Marshal(result)
	if len(value) > limit {
		return p.again(fmt.Sprintf("The answer was too long: it may have %d bytes.", limit))
	}
	if err == nil {
		err = json.Unmarshal(value, new(R))
	}
	if err != nil {
		return p.again("The answer could not be read.")
	}
	p.answer = value
	return nil
}

// again drops an answer that is of no use, and leaves a note for the question's next
// appearance. It ends a call that has asked too often.
func (p *pending) again(note string) error {
	p.answer = nil
	if p.tries++; p.tries > maxTries {
		return &Error{Reason: Unanswered, Key: p.key}
	}
	p.note = strings.ToValidUTF8(note, "\ufffd") // it may quote anything
	return nil
}

// lapse takes silence for an answer.
func (p *pending) lapse() error {
	p.how = listen.HowSilence
	switch {
	case p.fallback() != nil:
		p.answer = p.fallback()
	case p.lenient || p.tells:
		p.answer = p.outcome(silence)
	default:
		return &Error{Reason: Unanswered, Key: p.key, Detail: "not answered in time"}
	}
	return nil
}

// refusalBy is the note for the user about an answer that its Go type refuses. It names the
// properties that were refused. The text of an error is not the user's business, since it may
// repeat the answer or name a Go type; an error has advice for the user if it has a method
// ToolErrorHints.
func refusalBy(read func(value json.RawMessage, key string) error, answer json.RawMessage, key string) string {
	err := read(answer, key)
	var content map[string]json.RawMessage
	var refused []string
	if json.Unmarshal(answer, &content) == nil && len(content) > 1 {
		for _, name := range slices.Sorted(maps.Keys(content)) {
			alone, _ := json.Marshal(map[string]json.RawMessage{name: content[name]})
			if read(alone, key) != nil {
				refused = append(refused, name)
			}
		}
	}
	if len(refused) == 0 { // it is one property, or they do not go together
		refused = slices.Sorted(maps.Keys(content))
	}
	note := "The answer cannot be used: " + strings.Join(refused, ", ") + "."
	var advice interface{ ToolErrorHints() []string }
	if errors.As(err, &advice) {
		note += " " + strings.Join(advice.ToolErrorHints(), " ")
	}
	return note
}

// deadlines are those of the questions that go out; nil if none has one.
func deadlines(pending []pending) (until map[string]time.Time) {
	for i := range pending {
		p := &pending[i]
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

// requestsFor are the requests for the questions that are open, as a client gets them.
func (l *ledger) requestsFor(open []pending) (mcp.InputRequestMap, error) {
	requests := make(mcp.InputRequestMap, len(open))
	for i := range open {
		p := &open[i]
		if p.settled() {
			continue
		}
		request, err := p.request(p.note)
		if err != nil {
			return nil, err
		}
		if e, ok := request.(*mcp.ElicitParams); ok && l.ex.client.Era != era.Modern && era.IsURL(e) {
			e.ElicitationID = digest.VisitID(l.st.id, p.key)
		}
		requests[p.key] = request
	}
	return requests, nil
}
