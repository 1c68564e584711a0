package mrtr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/statecodec"
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
	reason := reasonOf(err)
	if err == nil && !p.settled() || err != nil && reason != Declined && reason != Cancelled {
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

// reportAnswers tells the observer how the questions of this round were answered: as says,
// unless that is "".
func (l *ledger) reportAnswers(ctx context.Context, as string) {
	if l.rt.observer == nil {
		return
	}
	round := l.answered
	if round == nil {
		round = l.st.pending
	}
	for i := range round {
		p := &round[i]
		if p.how == notYet {
			continue
		}
		l.report(ctx, p.spec, cmp.Or(as, p.how.String()))
		p.tell(notYet)
	}
}

// gateOrReport is gate for a question that is to be asked now. The observer is told if it is
// not.
func (l *ledger) gateOrReport(s *spec) (standIn json.RawMessage, err error) {
	standIn, err = l.gate(s)
	switch {
	case err != nil, standIn != nil && isOutcome(standIn):
		l.report(l.life, s, AnswerNotAsked)
	case standIn != nil:
		l.report(l.life, s, AnswerDefault)
	}
	return standIn, err
}

func (l *ledger) report(ctx context.Context, s *spec, answer string) {
	if l.rt.observer == nil {
		return
	}
	if seen := l.st.seen; seen != nil {
		seen.note(s.key, answer)
	}
	l.observe(ctx, Event{Kind: QuestionAnswered, Question: s.key, Answer: answer, Wording: s.digest()})
}

// ledgerKey is the key of the ledger in the context of its round, for an observer's sake alone.
type ledgerKey struct{}

// reportOver tells the observer of a call how a question was answered that its handler asked
// in place ([Question.AskOver]).
func reportOver(ctx context.Context, p *pending, response mcp.InputResponse, err error) {
	l, ok := ctx.Value(ledgerKey{}).(*ledger)
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
		l.report(ctx, p.spec, answer)
	}
}

// sender holds the facts of a request that are for the observer alone. A runtime
// without an observer makes none.
type sender struct {
	trace  Trace // of round one
	came   Trace // with this request
	client string
	waited time.Duration

	mu      sync.Mutex
	answers []string // of this round, as Event.Answers has them
}

func (s *sender) note(question, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, question+": "+answer)
}

// answered are the answers of the round so far.
func (s *sender) answered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// identify notes the facts of the request for the observer.
func (l *ledger) identify() {
	if l.rt.observer == nil {
		return
	}
	seen := &sender{client: clientName(l.ex), came: traceOf(l.ex.request)}
	if l.st.seen != nil {
		seen.trace = l.st.seen.trace
	} else if l.ex.token == "" {
		seen.trace = seen.came
	}
	if issued, ok := statecodec.Issued(l.ex.token); ok {
		seen.waited = max(0, time.Since(issued))
	}
	if l := l.ex.legacy; l != nil && l.last != nil {
		seen.waited = time.Since(l.asked)
	}
	l.st.see(seen)
}

// clientName is the name and version of the client, for the observer.
func clientName(ex exchange) string {
	info := clientInfo(ex.request, ex.session())
	return cut(strings.TrimSpace(cut(info.Name, maxClientInLog)+" "+cut(info.Version, maxClientInLog)), maxClientInLog)
}

// doubts remembers which doubts the observer has been told: a client that repeats a round gets
// the same answer again, but operators hear of each doubt once.
type doubts struct {
	mu   sync.Mutex
	told map[string]struct{}
}

// maxDoubts bounds the memory. When it is full, all doubts are forgotten and may be told again.
const maxDoubts = 10_000

// first reports whether the observer has not been told this doubt yet, and remembers it.
func (d *doubts) first(call, what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := call + " " + what
	if _, known := d.told[key]; known {
		return false
	}
	if d.told == nil || len(d.told) == maxDoubts {
		d.told = map[string]struct{}{}
	}
	d.told[key] = struct{}{}
	return true
}

// doubt tells the observer of effects that may or may not have happened.
func (l *ledger) doubt(ctx context.Context, effects ...string) {
	if l.rt.observer == nil {
		return
	}
	for _, effect := range effects {
		if l.rt.doubts.first(l.id(), "effect "+effect) {
			l.observe(ctx, Event{Kind: EffectInDoubt, Effect: effect})
		}
	}
}

// doubtRound tells the observer that a request was answered with an unknown outcome. A repeat
// of it is an ordinary RoundRepeated.
func (l *ledger) doubtRound(ctx context.Context, err error, unknown []string) {
	if l.rt.observer == nil {
		return
	}
	e := Event{Kind: RoundUnknown, Reason: "its instance fell silent", Err: err}
	if !l.rt.doubts.first(l.id(), "round") {
		e.Kind = RoundRepeated
	}
	l.doubt(ctx, unknown...)
	l.observe(ctx, e)
}

// doubtUndoings tells the observer of effects that an earlier run of the turn began to undo
// and never finished undoing.
func (l *ledger) doubtUndoings(ctx context.Context) {
	if l.rt.observer == nil {
		return
	}
	for i := range l.st.done {
		e := &l.st.done[i]
		if e.kind != undoneEntry || !e.unknown || l.st.done.undoing(e.key) != e {
			continue
		}
		if effect := effectName(e.key); l.rt.doubts.first(l.id(), "undoing "+effect) {
			l.observe(ctx, Event{Kind: StopFailed, Effect: effect, Reason: "the server was cut off while it was undone"})
		}
	}
}
