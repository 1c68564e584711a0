package question

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// A Pending question has been sent. An answer is judged by the question as it was sent, which
// the handler may word otherwise by now.
type Pending struct {
	*Spec
	Answer   json.RawMessage // held until all questions of the round have theirs
	Reworded int             // how many times in a row it was worded anew
	Note     string          // tells the user why the last answer did not fit
	Lapses   int64           // in Unix milliseconds, when silence is an answer; 0 for never
	Tries    int             // answers that did not fit

	// Of this round:
	Came      json.RawMessage // the answer as it came, whenever that was
	How       string          // it was answered, until the listener knows
	RefusedBy string          // why the handler could not read it
}

// Open asks a question, from now on.
func Open(s *Spec) Pending {
	p := Pending{Spec: s}
	if d := s.Patience(); d > 0 {
		p.Lapses = time.Now().Add(d).UnixMilli()
	}
	return p
}

// Answered reports whether the question has its answer, or what stands in for it.
func (p *Pending) Answered() bool { return p.Answer != nil }

// StandIn settles a question that its client cannot be asked; nil leaves it open.
func (p *Pending) StandIn(answer json.RawMessage) {
	if p.Answer = answer; answer != nil {
		p.How = HowStandIn(answer)
	}
}

// IsLate reports whether an answer that comes now is too late.
func (p *Pending) IsLate(now time.Time) bool { return p.Lapses != 0 && !now.Before(p.deadline()) }

func (p *Pending) deadline() time.Time { return time.UnixMilli(p.Lapses) }

// Deadlines say when silence counts as the answer to those of the questions that are open; nil if it does
// for none. That is as much later as clocks may differ.
func Deadlines(all []Pending, skew time.Duration) (until map[string]time.Time) {
	for i := range all {
		p := &all[i]
		if p.Lapses == 0 || p.Answered() {
			continue
		}
		if until == nil {
			until = map[string]time.Time{}
		}
		until[p.Key] = p.deadline().Add(skew)
	}
	return until
}

// Requests carry the questions of a call that are open to a client.
func Requests(all []Pending, client era.Era, call string) (mcp.InputRequestMap, error) {
	requests := make(mcp.InputRequestMap, len(all))
	for i := range all {
		p := &all[i]
		if p.Answered() {
			continue
		}
		request, err := p.request(p.Note)
		if err != nil {
			return nil, err
		}
		if e, ok := request.(*mcp.ElicitParams); ok && client != era.Modern && era.IsURL(e) {
			e.ElicitationID = digest.VisitID(call, p.Key)
		}
		requests[p.Key] = request
	}
	return requests, nil
}

// Keep keeps the forms of the questions that are open, for the process that gets their answers.
func Keep(all []Pending) {
	for i := range all {
		if p := &all[i]; p.form != nil && !p.Answered() {
			form.Keep(p.Schema, p.form)
		}
	}
}

// Write writes a question, with its default if that may stand in before the handler runs again: for
// silence, or in a call that others may join, for a client that cannot be asked.
func (p *Pending) Write(w *jsontext.Writer, i int, joins bool) {
	w.Object(i, "key", p.Key)
	if p.Kind != Form {
		w.Text("kind", string(p.Kind))
	}
	w.Text("text", p.Message)
	w.Text("url", p.URL)
	w.Raw("form", p.Schema)
	w.Raw("meta", p.Meta)
	w.Flag("lenient", p.Lenient)
	w.Flag("tells", p.Tells)
	w.Flag("anywords", p.AnyWords)
	w.Number("tries", p.Tries)
	w.Text("note", p.Note)
	w.Raw("answer", p.Answer)
	w.Number("reworded", p.Reworded)
	if p.Lapses != 0 {
		w.Number("until", int(p.Lapses))
	}
	if p.Lapses != 0 || joins {
		w.Raw("default", p.Fallback())
	}
	w.EndObject()
}

// Append reads a question, with a spec of its own. Most states have one question, whose two parts are
// one allocation.
func Append(all []Pending, r *jsontext.Reader) []Pending {
	if all != nil {
		all = append(all, Pending{Spec: &Spec{}})
	} else {
		first := &struct {
			list [1]Pending
			spec Spec
		}{}
		first.list[0].Spec = &first.spec
		all = first.list[:]
	}
	all[len(all)-1].read(r)
	return all
}

func (p *Pending) read(r *jsontext.Reader) {
	p.Key, p.Kind = r.First("key"), cmp.Or(Kind(r.Text("kind")), Form)
	p.Message, p.URL = r.Text("text"), r.Text("url")
	if schema := r.RawText("form"); schema != "" { // the process that asked has its form, and the schema too
		if p.form, p.Schema = form.Kept(schema); p.form == nil {
			p.Schema = json.RawMessage(schema)
		}
	}
	p.Meta = r.Raw("meta")
	p.Lenient, p.Tells, p.AnyWords = r.Flag("lenient"), r.Flag("tells"), r.Flag("anywords")
	p.Tries, p.Note, p.Answer, p.Reworded = r.Number("tries"), r.Text("note"), r.Raw("answer"), r.Number("reworded")
	p.Lapses = int64(r.Number("until"))
	if standIn := r.Raw("default"); p.Lapses != 0 || standIn != nil {
		p.Absence = &Absence{Answer: standIn}
	}
	r.EndObject()
}

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
