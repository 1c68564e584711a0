package mrtr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/statecodec"
)

// A call begins with its first answer. Until then equal first requests of one caller mean one
// call: its effects happen once, and each request gets the same questions in separate states.
// Those are a branch of the call. A branch resumes the call if that has not moved on since the
// branch began, or if the branch is the first to answer. Any other answer makes it a separate call.
//
// So a client may play the whole call again from its first request, as agents do that resume from
// their top, and two users in two windows have two calls.

// minSecretKey is the shortest key of an unknown caller, whose only secret it is.
const minSecretKey = 16

// intent is the meaning of a first request. Requests that mean the same share its name.
type intent struct {
	name   string
	print  string // of the arguments
	keyed  bool
	alone  bool // no other request has it
	untold bool // the listener does not know how the round ended
}

// resolveIntent finds the intent of a first request, if others may share it.
func (r *round) resolveIntent(ctx context.Context) error {
	t := r.target
	task := rendezvous.TaskRoundOf(ctx)
	if t.task == (rendezvous.TaskPolicy{}) {
		task = nil // its call is none
	}
	if t.same == SameNone {
		if task == nil {
			r.meanAlone()
		}
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
	b := statecodec.Binding{Method: r.ex.method, Target: r.ex.name, Arguments: r.ex.arguments, Principal: r.principal, Audience: t.Audience}
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
		// The rounds of a task find each other by the id, and an effect of a call whose record was lost
		// is found by the idempotency key that is made of it.
		sum := sha256.Sum256([]byte(in.name + " " + in.print))
		r.st.id = hex.EncodeToString(sum[:digest.IDLen/2])
	}
	if task != nil {
		r.st.id, r.taskPrint = in.name+r.st.id, in.print
		return r.keepForTask(ctx, in)
	}
	r.intend(in)
	return nil
}

// keepForTask has a key stand for a task. A key that stands for a call without one is refused here,
// and from now on a client without tasks is refused under this key.
func (r *round) keepForTask(ctx context.Context, in *intent) error {
	r.life = ctx
	for {
		r.intent = &intent{name: in.name, print: in.print + " task", keyed: true}
		turn := r.firstTurn()
		r.intent, r.st.line = nil, nil
		_, err := r.target.rt.keeper.Keep(ctx, turn, func(context.Context, keep.Notes) keep.Outcome { return keep.Outcome{} })
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, keep.ErrBeginAgain):
			return r.rejectKept(ctx, err)
		}
		if err := r.beginKept(ctx); err != nil {
			return err
		}
	}
}

// meanAlone gives a request an intent that no other shares, if the effects of its first round may have to be
// undone.
func (r *round) meanAlone() {
	if len(r.target.undos) > 0 {
		name := digest.NewID()[:digest.IntentLen]
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

// join puts the questions of another branch's outcome into a state of this one: of a new branch, if
// the request joins the call. Where this client cannot be asked any of them, and defaults stand in,
// the request goes on with those.
func (r *round) join(o *keep.Outcome) (goesOn bool, _ error) {
	if o.Token == "" {
		return false, nil
	}
	of := r.beside()
	var err error
	if of.st, err = of.unsealKept(o.Token); err != nil {
		return false, err
	}
	goesOn = true
	own, line := r.st.lineage(), of.st.lineage()
	if o.Joins.Late { // no answer to these questions would be taken
		*o = keep.Outcome{Repeated: true, Err: of.st.done.report(&Error{Reason: Abandoned})}
		return false, nil
	}
	switch {
	case r.intent == nil:
		line.branch, line.seen, of.st.until = own.branch, own.seen, max(of.st.until, r.st.until)
	case !r.intent.keyed:
		line.branch, line.seen = digest.NewID()[:16], o.Joins.Seen
		fallthrough
	default:
		of.st.until = max(of.st.until, o.Joins.Until.UnixMilli())
	}
	for i := range of.st.pending {
		p := &of.st.pending[i]
		if p.Answered() {
			continue
		}
		standIn, err := r.gate(p.Spec)
		if err != nil { // it was another client that could be asked
			*o = keep.Outcome{Repeated: true, Err: of.st.done.report(err)}
			return false, nil
		}
		p.StandIn(standIn)
		goesOn = goesOn && p.Answered()
	}
	of.st.line = &line
	if o.Token, err = of.sealAsIs(); err != nil {
		return false, err
	}
	if goesOn {
		r.takeUpFrom(of.st, o.Token)
		r.over = r.file()
		return true, nil
	}
	r.send(o.Token, of.st.pending)
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

// split makes this branch a separate call, which begins from its top in this request. Its user has
// given these answers already: they are known, where the same questions are asked. Its id is the same
// whenever the request comes again.
func (r *round) split() {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.st.id
	r.splitOff()
	r.hear(listen.Entry{Kind: listen.Split, Key: old})
}

func (r *round) splitOff() {
	old := r.st
	r.known = &known{}
	for i := range old.done {
		if e := &old.done[i]; e.kind == listen.Answered {
			r.known.answers = append(r.known.answers, *e)
		}
	}
	if r.fresh == nil {
		r.fresh = old.pending
	}
	r.st = state{round: 1, version: r.target.version, style: r.target.print, trace: old.trace}
	sum := sha256.Sum256([]byte(old.id + " " + old.lineage().branch + " " + strconv.Itoa(old.turn)))
	r.st.id = digest.IntentOf(old.id) + hex.EncodeToString(sum[:16])
	r.st.mark, r.st.turn, r.st.until = old.mark, old.turn, old.until
	line := old.lineage()
	line.seen = 0 // of the other call
	r.st.line = &line
}

// known are the answers that the user gave before a branch was split off.
type known struct{ answers history }

// take is the answer to a question, if it was given to these words.
func (k *known) take(s *question.Spec) json.RawMessage {
	if k == nil {
		return nil
	}
	e := k.answers.answer(s.Key)
	if e == nil || !e.answers(s) {
		return nil
	}
	value := e.value
	k.answers = slices.DeleteFunc(slices.Clone(k.answers), k.answers.takenBackWith(s.Key))
	return value
}

// offerTask tells a round whose call may become a task of the handler's policy. It reports
// whether this is the first request of such a call. That gets its answer at once, a state
// without questions, and the next one enters the handler: so the state is written down before
// anything happens, and another instance can take over the first round too.
func (r *round) offerTask(ctx context.Context) (start bool, _ error) {
	task := rendezvous.TaskRoundOf(ctx)
	if task == nil {
		if r.target.task.Required {
			return false, callerror.NeedsTasks()
		}
		return false, nil
	}
	r.life = ctx
	if !r.begins {
		r.declare(task, true)
		return false, nil
	}
	if err := r.refuseUnaskable(); err != nil {
		return false, err
	}
	return true, nil
}

// start answers the first request of a call that may become a task.
func (r *round) start(err error) keep.Outcome {
	if err != nil {
		return keep.Outcome{Err: err}
	}
	if r.st.round = 0; r.st.isKept() {
		r.nextTurn()
	}
	token, err := r.seal()
	if err != nil {
		return keep.Outcome{Err: err}
	}
	r.declare(rendezvous.TaskRoundOf(r.life), false)
	r.sent = sent{token: token}
	return keep.Outcome{Token: token}
}

// declare describes the task that the call would be. A call that becomes a task in a later round has
// another name for it, since its first request made none.
func (r *round) declare(task *rendezvous.TaskRound, late bool) {
	i := rendezvous.Intent{Name: digest.TaskName(r.target.Audience, r.principal, r.st.id, late), Print: r.taskPrint, Call: r.st.id}
	task.Declare(r.target.task, r.st.isKept(), i)
}
