package mrtr

import (
	"slices"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A turn is a round as the Keeper knows it: under a name, with the answers that it was asked with,
// and for a time.

// turn names this round for the Keeper. over is why the call ends without its handler, or nil.
func (r *round) turn(over error) keep.Turn {
	if r.intent != nil {
		return r.firstTurn()
	}
	t, line := r.target, r.st.lineage()
	turn := keep.Turn{
		Round: r.describe(), Mark: r.st.mark, Name: digest.TurnName(t.Audience, r.principal, r.st.id, r.st.turn),
		Fingerprint: r.fingerprint(over), Expires: r.expires(), Within: t.within, Cancel: t.cancel,
		Noted: t.noted(), Since: r.asOf, Handler: t, Branch: line.branch, Shared: r.st.turn < line.seen,
	}
	if r.isLookedAfter() && !r.canUndo() { // else the turn that asked is due
		turn.Due = r.due(time.UnixMilli(r.st.until))
		turn.Asked, _ = t.Write(keep.Outcome{Token: r.ex.token, Request: r.request(r.known != nil)})
	}
	return turn
}

// expires is when the record of this turn may be forgotten.
func (r *round) expires() time.Time {
	last := r.target.rt.lastUse(time.UnixMilli(r.st.until))
	if r.canUndo() { // the sweeper that looks after the call must find that it was resumed
		last = r.due(time.UnixMilli(r.st.until)).Until.Add(time.Hour)
	}
	if keeps := time.UnixMilli(r.st.lineage().keeps); keeps.After(last) {
		return keeps
	}
	return last
}

// fingerprint identifies the answers of a round as they came: their meaning, however they are
// spelled, and whenever they came.
func (r *round) fingerprint(over error) string {
	p := digest.NewBuffer()
	defer p.Release()
	answers := r.fresh
	if answers == nil {
		answers = r.st.pending
	}
	if len(answers) > 1 {
		answers = slices.Clone(answers)
		slices.SortFunc(answers, func(a, b question.Pending) int { return strings.Compare(a.Key, b.Key) })
	}
	came := false
	for i := range answers {
		a := &answers[i]
		value := a.Came
		if value == nil && a.How != listen.HowSilence {
			value = a.Answer
		}
		came = came || value != nil
		p.B = append(append(append(p.B, a.Key...), 0), a.Words()...)
		p.B = append(append(append(p.B, 0), value...), 0)
	}
	if over != nil && !came && !endedByAnswers(over) {
		p.B = append(p.B, over.Error()...)
	}
	return digest.Short(p.B)
}

// nextTurn begins another turn of a call that is kept.
func (r *round) nextTurn() {
	if r.st.until != 0 {
		r.st.turn++
	}
	if r.notes != nil {
		mark := r.notes.Mark()
		r.locked(func() { r.st.mark = mark })
	}
	_, ttl := r.states()
	r.st.until = time.Now().Add(ttl).UnixMilli()
	r.keepLonger()
}

// firstTurn names the turn that begins the call.
func (r *round) firstTurn() keep.Turn {
	t := r.target
	_, ttl := r.states()
	until := time.Now().Add(ttl)
	expires := t.rt.lastUse(until).Add(r.keptFor())
	r.st.line = &lineage{keeps: expires.UnixMilli(), keyed: r.intent.keyed}
	turn := keep.Turn{
		Round: r.describe(), Mark: r.st.mark, Name: digest.FirstName(t.Audience, r.principal, r.intent.name), Fingerprint: r.intent.print,
		Expires: expires, Within: t.within, Cancel: t.cancel, Noted: true, Handler: first{t},
		First: &keep.First{
			Call: r.st.id, Keyed: r.intent.keyed, Next: r.next, Held: r.isHeld, Alone: r.intent.alone,
			Aside: func(call string) string { return digest.FirstName(t.Audience, r.principal, call) },
		},
	}
	if r.isLookedAfter() {
		turn.Due = r.due(until)
		turn.Asked, _ = t.Write(keep.Outcome{Request: r.request(r.known != nil)})
	}
	return turn
}

// first is a handler in the first round of a call. A repeat of the request enters it from its top,
// so an interrupted run can be resumed in every style.
type first struct{ *target }

func (first) Goes([]byte) bool { return true }

// next implements [keep.First].
func (r *round) next(outcome []byte) (n keep.Next, ok bool) {
	st, ok := r.stateOf(outcome)
	if !ok {
		return n, false
	}
	until := time.UnixMilli(st.until)
	return keep.Next{
		Turn: digest.TurnName(r.target.Audience, r.principal, st.id, st.turn), Until: until, Waits: time.Since(until) <= r.target.rt.skew,
	}, true
}

// isHeld implements [keep.First].
func (r *round) isHeld(outcome []byte) bool {
	of := newRound(r.target, r.ex)
	var ok bool
	of.st, ok = r.stateOf(outcome)
	return ok && of.wait() == nil
}

// stateOf is the state in which an outcome leaves its call, if that goes on.
func (r *round) stateOf(outcome []byte) (st state, ok bool) {
	o, format := jsontext.Open(outcome, "v")
	token := o.Text("token")
	if format != recordFormat || token == "" {
		return st, false
	}
	of := r.beside()
	st, err := of.unsealKept(token)
	return st, err == nil && st.isKept()
}

// keptFor is how long the records of a call live beyond its states: long enough that those of the
// turns before need not be written again while a user takes no longer than a state opens, and that
// the end of a call with a key is remembered for a day.
func (r *round) keptFor() time.Duration {
	if r.st.lineage().keyed {
		return 48 * time.Hour
	}
	_, ttl := r.states()
	return ttl
}

// keepLonger has the records of the earlier turns live longer, if the call goes on after they do.
func (r *round) keepLonger() {
	line, last := r.st.lineage(), r.target.rt.lastUse(time.UnixMilli(r.st.until))
	if line.keyed {
		last = last.Add(24 * time.Hour)
	}
	if line.keeps != 0 && last.After(time.UnixMilli(line.keeps)) {
		longer := line
		longer.keeps = last.Add(r.keptFor()).UnixMilli()
		r.st.line = &longer
	}
}

// extend names the records of the earlier turns, if they have to live longer than they had to.
func (r *round) extend(was *lineage) *keep.Extend {
	if r.st.line == was {
		return nil
	}
	t := r.target
	names := []string{digest.FirstName(t.Audience, r.principal, digest.IntentOf(r.st.id))}
	for turn := range r.st.turn {
		names = append(names, digest.TurnName(t.Audience, r.principal, r.st.id, turn))
	}
	return &keep.Extend{Names: names, Until: time.UnixMilli(r.st.line.keeps)}
}

const (
	// expiryMargin is added to the end of the states, after which every instance refuses them.
	expiryMargin = 5 * time.Second
	// lookedAfter is how long the instances may all be down.
	lookedAfter = 24 * time.Hour
)

// due is when a call can't be resumed any more whose states end at a time.
func (r *round) due(until time.Time) keep.Due {
	at := until.Add(2*r.target.rt.skew + expiryMargin)
	return keep.Due{At: at, Until: at.Add(lookedAfter)}
}

// canUndo reports whether the call has effects whose undo is declared.
func (r *round) canUndo() bool {
	return slices.ContainsFunc(r.st.done, func(e entry) bool {
		return e.mayStand() && slices.ContainsFunc(r.target.undos, func(u Undoing) bool { return u.key == shown(e.key) })
	})
}

// remains are the entries of a round whose run did not end, for a Keeper, and who left them.
type remains struct {
	done    history
	version string
	style   string
	mixed   bool // several versions did
}

// encode returns nil if nothing is left.
func (left remains) encode() []byte {
	if len(left.done) == 0 {
		return nil
	}
	w := jsontext.Begin(nil, "v", stateFormat)
	left.done.write(&w)
	w.Text("by", left.version)
	w.Text("style", left.style)
	w.Flag("mixed", left.mixed)
	return w.End()
}

func readRemains(b []byte) (left remains) {
	if len(b) == 0 {
		return left
	}
	r, _ := jsontext.Open(b, "v")
	return remains{done: readHistory(&r), version: r.Text("by"), style: r.Text("style"), mixed: r.Flag("mixed")}
}

// takeOver makes the round that of whoever left something in it.
func (st *state) takeOver(left remains, version string) {
	if left.style == "" { // nothing is left
		return
	}
	st.style = left.style
	if st.mixed = left.mixed || left.version != version; st.mixed && st.version == version {
		st.version = left.version // a later round is to know too
	}
}
