package mrtr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/statecodec"
)

// A call begins with its first answer. Until then equal first requests of one caller mean one
// call: its effects happen once, and each request gets the same questions, in states of its own.
// Those are a branch of the call. A branch goes on with the call as far as that had come when the
// branch began, or as the first to answer. Any other answer makes the branch a call of its own.
//
// So a client may play the whole call again from its first request, as agents do that resume from
// their top, and two users in two windows have two calls.

// SamePolicy decides which first requests mean one call. It needs a [Keeper].
type SamePolicy int

const (
	// SameInherit takes the runtime's policy, which is SameWaiting unless set.
	SameInherit SamePolicy = iota
	// SameNone makes each first request a call of its own, whatever key it has.
	SameNone
	// SameWaiting makes equal first requests of one known caller one call, while that waits for
	// its first answer. One that comes later catches up with the call by the same answers. A
	// caller is known by the principal. Without one, all who are not connected by HTTP, over stdio
	// or in memory, are one caller: a client that starts again goes on with its calls.
	SameWaiting
)

// minSecretKey is the shortest key of a caller whom nobody knows: the key is the only secret then.
const minSecretKey = 16

// KeyFromClient is the idempotency key that a client sends: the header Idempotency-Key, or a
// member of _meta named idempotencyKey, idempotency-key or io.modelcontextprotocol/idempotencyKey.
// It is the SameKey of [Options] unless that is set.
func KeyFromClient(ctx context.Context, req mcp.Request) string {
	if extra := req.GetExtra(); extra != nil {
		if key := extra.Header.Get("Idempotency-Key"); key != "" {
			return key
		}
	}
	return metaKey(req, "idempotencyKey", "idempotency-key", "io.modelcontextprotocol/idempotencyKey")
}

// MetaKey takes the key of a call from a member of _meta, for Options.SameKey: the first of those
// named that is a text. [KeyFromClient] comes before it. Name only members that differ between any
// two calls that are both meant: code that runs inside one tool use may call a tool twice.
func MetaKey(names ...string) func(ctx context.Context, req mcp.Request) string {
	return func(ctx context.Context, req mcp.Request) string {
		if key := KeyFromClient(ctx, req); key != "" {
			return key
		}
		return metaKey(req, names...)
	}
}

func metaKey(req mcp.Request, names ...string) string {
	meta := requestMeta(req)
	for _, name := range names {
		if key, _ := meta[name].(string); key != "" {
			return key
		}
	}
	return ""
}

// intent is what a first request means. All that mean the same have the same name.
type intent struct {
	name   string
	print  string // of the arguments
	keyed  bool
	alone  bool // no other request has it
	untold bool // the listener does not know how the round ended
}

// intentLen is the length of the name of an intent, with which the id of its call begins.
const intentLen = 22

// mean finds out what a first request means, if others may mean the same.
func (r *round) mean(ctx context.Context) error {
	t := r.target
	task := rendezvous.TaskRoundOf(ctx)
	if t.task == (rendezvous.TaskPolicy{}) {
		task = nil // its call is none
	}
	if !r.st.isKept() || task != nil && t.same == SameNone {
		return nil
	}
	if t.same == SameNone {
		r.meanAlone()
		return nil
	}
	key := ""
	if err := guard(func() error { key = t.sameKey(ctx, r.ex.request); return nil }); err != nil {
		return safeError(err)
	}
	known := r.principal != "" || r.ex.isAlone()
	if !known && len(key) < minSecretKey {
		key = ""
	}
	switch {
	case key == "" && task != nil:
		return nil
	case key == "" && !known:
		r.meanAlone()
		return nil
	}
	b := statecodec.Binding{Method: r.ex.method, Target: r.ex.name, Arguments: r.ex.arguments, Principal: r.principal, Audience: t.audience}
	print, err := t.rt.intents.Digest(b)
	if err != nil {
		return nil // open has refused such arguments
	}
	in := &intent{name: print, print: print, keyed: key != ""}
	if in.keyed {
		b.Arguments, b.Session = nil, "key "+key
		if in.name, err = t.rt.intents.Digest(b); err != nil {
			return err
		}
	}
	if task != nil { // its rounds find each other by the id
		sum := sha256.Sum256([]byte(in.name + " " + in.print))
		r.st.id = in.name + hex.EncodeToString(sum[:idLen/2])
		task.Mean(rendezvous.Intent{Name: in.name, Print: in.print})
		return r.keepForTask(ctx, in)
	}
	r.intend(in)
	return nil
}

// keepForTask has a key stand for a task: a client that takes none is refused under it, and one that
// takes tasks is where it stands for a call of the other.
func (r *round) keepForTask(ctx context.Context, in *intent) error {
	r.life = ctx
	for {
		r.intent = &intent{name: in.name, print: in.print + " task", keyed: true}
		turn := r.firstTurn()
		r.intent, r.st.line = nil, nil
		_, err := r.target.rt.keeper.Keep(ctx, turn, func(context.Context, Notes) Outcome { return Outcome{} })
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, ErrBeginAgain):
			return r.reject(RefusedRound, whyRefused(ctx, err), causeOf(err), err)
		}
		if err := r.beginKept(ctx); err != nil {
			return err
		}
	}
}

// meanAlone gives a request an intent of its own, if the effects of its first round may have to be
// undone.
func (r *round) meanAlone() {
	if len(r.target.undos) > 0 {
		name := newID()[:intentLen]
		r.intend(&intent{name: name, print: name, alone: true})
	}
}

func (r *round) intend(in *intent) {
	r.intent, r.st.id, r.st.line = in, in.name+r.st.id, &lineage{keyed: in.keyed}
}

// isAlone reports whether the request came over a connection that has one user.
func (ex *exchange) isAlone() bool {
	if extra := ex.request.GetExtra(); extra != nil && (extra.Header != nil || extra.TokenInfo != nil) {
		return false
	}
	session := ex.session()
	return session == nil || session.ID() == ""
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

// firstTurn names the turn with which the call begins.
func (r *round) firstTurn() Turn {
	t := r.target
	_, ttl := r.states()
	expires := t.rt.lastUse(time.Now().Add(ttl)).Add(r.keptFor())
	r.st.line = &lineage{keeps: expires.UnixMilli(), keyed: r.intent.keyed}
	return Turn{
		Round: r.describe(), Mark: r.st.mark, Name: firstName(t.audience, r.principal, r.intent.name), Fingerprint: r.intent.print,
		Expires: expires, Within: t.within, Cancel: t.cancel, Noted: true, Handler: first{t},
		First: &First{
			Call: r.st.id, Keyed: r.intent.keyed, Next: r.next, Held: r.isHeld, Alone: r.intent.alone,
			Aside: func(call string) string { return firstName(t.audience, r.principal, call) },
		},
	}
}

// first is a handler in the first round of a call. Whoever repeats the request enters it from its
// top, so a run that was cut off can be gone on with in every style.
type first struct{ *target }

func (first) Goes([]byte) bool { return true }

// next implements [First].
func (r *round) next(outcome []byte) (n Next, ok bool) {
	st, ok := r.stateOf(outcome)
	if !ok {
		return n, false
	}
	until := time.UnixMilli(st.until)
	return Next{
		Turn: turnName(r.target.audience, r.principal, st.id, st.turn), Until: until, Waits: time.Since(until) <= r.target.rt.skew,
	}, true
}

// isHeld implements [First].
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
	of := newRound(r.target, r.ex)
	of.principal, of.life = r.principal, r.life
	st, err := of.unsealKept(token)
	return st, err == nil && st.isKept()
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
func (r *round) extend(was *lineage) *Extend {
	if r.st.line == was {
		return nil
	}
	t := r.target
	names := []string{firstName(t.audience, r.principal, r.st.intent())}
	for turn := range r.st.turn {
		names = append(names, turnName(t.audience, r.principal, r.st.id, turn))
	}
	return &Extend{names, time.UnixMilli(r.st.line.keeps)}
}

// join puts the questions of another branch's outcome into a state of this one: of a new branch, if
// the request joins the call. Where a default stands in for a question that this client cannot be
// asked, the request goes on with that.
func (r *round) join(o *Outcome) (goesOn bool, _ error) {
	if o.Token == "" {
		return false, nil
	}
	of := newRound(r.target, r.ex)
	of.principal, of.life = r.principal, r.life
	var err error
	if of.st, err = of.unsealKept(o.Token); err != nil {
		return false, err
	}
	own, line := r.st.lineage(), of.st.lineage()
	if o.Joins.Late { // no answer to these questions would be taken
		*o = Outcome{Repeated: true, Err: of.st.done.report(&Error{Reason: Abandoned})}
		return false, nil
	}
	switch {
	case r.intent == nil:
		line.branch, line.seen, of.st.until = own.branch, own.seen, max(of.st.until, r.st.until)
	case !r.intent.keyed:
		line.branch, line.seen = newID()[:16], o.Joins.Seen
		fallthrough
	default:
		of.st.until = max(of.st.until, o.Joins.Until.UnixMilli())
	}
	for i := range of.st.pending {
		p := &of.st.pending[i]
		if p.settled() {
			continue
		}
		standIn, err := r.gate(p.spec)
		if err != nil { // it was another client that could be asked
			*o = Outcome{Repeated: true, Err: of.st.done.report(err)}
			return false, nil
		}
		goesOn = goesOn || standIn != nil
	}
	of.st.line = &line
	if o.Token, err = of.sealAsIs(); err != nil {
		return false, err
	}
	if goesOn {
		r.takeUpFrom(of.st, o.Token)
		return true, nil
	}
	o.asks = of.st.pending
	r.tellTask(o.asks)
	return false, nil
}

// takeUpFrom has the request go on from a state, as if that had come with it.
func (r *round) takeUpFrom(st state, token string) {
	if r.entered { // what it has done so far is nothing
		r.again()
	}
	r.begins, r.intent, r.over = false, nil, nil
	r.ex.token, r.ex.answers = token, nil
	r.locked(func() { r.st, r.fresh = st, nil })
	r.st.round++
}

// split makes this branch a call of its own, which begins from its top in this request. Its user has
// given these answers already: they are known, where the same questions are asked. Its id is the same
// whenever the request comes again.
func (r *round) split() {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.st
	r.known = &known{}
	for i := range old.done {
		if e := &old.done[i]; e.kind == Answered {
			r.known.answers = append(r.known.answers, *e)
		}
	}
	if r.fresh == nil {
		r.fresh = old.pending
	}
	r.st = state{round: 1, version: r.target.version, style: r.target.print, trace: old.trace}
	sum := sha256.Sum256([]byte(old.id + " " + old.lineage().branch + " " + strconv.Itoa(old.turn)))
	r.st.id = old.intent() + hex.EncodeToString(sum[:16])
	r.st.mark, r.st.turn, r.st.until = old.mark, old.turn, old.until
	line := old.lineage()
	line.seen = 0 // of the other call
	r.st.line = &line
	r.hear(Entry{Kind: Split, Key: old.id})
}

// known are the answers that the user gave before a branch was split off.
type known struct{ answers history }

// take is the answer to a question, if it was given to these words.
func (k *known) take(s *spec) json.RawMessage {
	if k == nil {
		return nil
	}
	e := k.answers.answer(s.key)
	if e == nil || !e.answers(s) {
		return nil
	}
	value := e.value
	k.answers = k.answers.without(s.key)
	return value
}
