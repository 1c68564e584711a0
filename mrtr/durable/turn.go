package durable

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// turn claims a turn and runs it, or recalls its outcome. A turn with which a call begins is run
// first, and claimed with its first effect or with its questions.
func (k *Keeper) turn(w *work, t keep.Turn, run func(ctx context.Context, n keep.Notes) keep.Outcome) (keep.Outcome, error) {
	n := &notes{k: k, w: w, t: t}
	n.turn, n.doubts = k.claimOf(t)
	concluded := false
	defer func() {
		if !concluded { // a panic
			n.release()
		}
	}()
	out, err := n.play(run)
	concluded = true
	return out, err
}

func (k *Keeper) claimOf(t keep.Turn) (_ claim.Turn, doubtful bool) {
	key, doubtful := k.key(t, t.Name)
	turn := claim.Turn{
		Key: key, Fingerprint: t.Fingerprint, Expires: t.Expires, Noted: t.Noted, Since: t.Since, Goes: t.Handler,
		Branch: t.Branch, Shared: t.Shared, Late: t.Late, Due: t.Due.At, Lives: t.Due.Until, Asked: t.Asked,
	}
	if t.First != nil {
		turn.Call, turn.Aside = t.First.Call, t.First.Aside
	}
	return turn, doubtful
}

// play runs the turn, unless another request has it. That may show when the run has begun: what it
// has done so far is nothing then, and it runs again from its top if it has to go on with what the
// other one has done.
func (n *notes) play(run func(ctx context.Context, n keep.Notes) keep.Outcome) (o keep.Outcome, err error) {
	if n.t.First == nil || n.t.First.Keyed || n.t.Late {
		if !n.take(n.w) {
			return n.met, n.metErr
		}
	}
	for {
		o = run(n.w, n)
		if n.held == nil && o.Token != "" && !n.t.First.Alone {
			n.turn.Result, o = n.t.Handler.Write(o)
			n.take(n.w)
		}
		switch again, met := n.isMet(); {
		case again:
			n.again, n.turn.Result = false, nil
		case met:
			n.release() // a goroutine of the handler's has claimed it meanwhile
			return n.met, n.metErr
		case n.held == nil: // it has done nothing, or its questions are its record
			return o, nil
		default:
			return n.conclude(o)
		}
	}
}

// take claims the turn. If another request has it, what becomes of this one is met.
func (n *notes) take(ctx context.Context) (held bool) {
	n.turn.Over = nil
	if n.t.First != nil && !n.t.First.Keyed && !n.t.Late {
		n.turn.Over = n.isOver
	}
	a, err := n.claim(ctx)
	switch {
	case errors.Is(err, store.ErrTooLarge) && n.turn.Result != nil: // nobody joins these questions, and their states are good
		n.k.tell(n.w, n.t, listen.Entry{Kind: NotRecorded, Err: err})
		return false
	case err != nil:
		return n.meet(keep.Outcome{}, n.k.refused(n.w, n.t, err, false))
	case a.Held == nil:
		return n.meet(n.recall(a))
	}
	if n.turn.Result != nil && len(a.Left) == 0 && !a.TookOver { // which is its record
		return true
	}
	if err := n.enter(a); err != nil {
		return n.meet(keep.Outcome{}, err)
	}
	kind := Claimed
	if a.TookOver {
		kind = TakenOver
	}
	n.k.tell(n.w, n.t, listen.Entry{Kind: kind})
	n.mu.Lock()
	n.again = n.of != nil && (len(a.Left) > 0 || a.TookOver)
	n.held, n.before, n.since, n.cutOff, n.call = a.Held, a.Left, a.Since, a.TookOver, a.Call
	n.hasMet = false // an effect whose own context ended had tried before
	n.mu.Unlock()
	n.limit()
	return true
}

// release lets go of the turn, if it is held: nobody concludes it, and its claim would be renewed for ever.
func (n *notes) release() {
	if n.held != nil {
		n.end()
		n.held.LetGo(n.w, n.effects())
	}
}

// enter makes the round work of the server's.
func (n *notes) enter(a claim.Answer) error {
	if err := n.k.works.enter(n.w); err != nil {
		a.Held.LetGo(n.w, a.Left)
		return n.k.refused(n.w, n.t, err, false)
	}
	if !n.t.Cancel && !n.w.unhook() { // its client has left before it was claimed
		<-n.w.Done()
		a.Held.LetGo(n.w, a.Left)
		return n.k.refused(n.w, n.t, n.w.Err(), false)
	}
	close(n.w.claimed)
	return nil
}

// meet notes what becomes of a request whose turn another one has.
func (n *notes) meet(o keep.Outcome, err error) (held bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.met, n.metErr, n.hasMet = o, err, true
	return false
}

// isMet reports whether the run is over: because it has to run again, or has met what another
// request came to.
func (n *notes) isMet() (again, met bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.again, n.hasMet
}

// conclude records the outcome of a turn that ran. It returns the one that the client gets:
// where another request has taken over, that is the other's.
func (n *notes) conclude(o keep.Outcome) (keep.Outcome, error) {
	switch broken := n.end(); {
	case errors.Is(broken, claim.ErrFenced):
		return n.follow()
	case errors.Is(broken, errGivenUp):
		<-n.w.givenUp
		return n.w.short, nil
	case o.Free:
		if o.Entered {
			n.held.Ran()
		}
		n.held.LetGo(n.w, o.Left)
		return o, nil
	}
	b, repeat := n.t.Handler.Write(o)
	if limit := n.k.o.MaxResult; o.Value != nil && len(b) > limit+recordFrame || len(b) > limit+recordOverhead {
		b = nil
	}
	if !o.Due.At.IsZero() {
		n.held.Due(o.Due.At, o.Due.Until)
	}
	err := n.held.Finish(n.w, b, n.t.Handler.Short(o))
	switch {
	case errors.Is(err, claim.ErrFenced):
		return n.follow()
	case errors.Is(err, claim.ErrNotTaken): // else nobody would find its effects, if its user leaves
		n.held.LetGo(n.w, n.effects())
		return keep.Outcome{}, n.k.refused(n.w, n.t, err, true)
	case errors.Is(err, store.ErrForgotten):
		n.k.records.Forgotten()
	}
	if err != nil { // the effects happened, so tell the client even though nothing was recorded
		n.k.tell(n.w, n.t, listen.Entry{Kind: NotRecorded, Err: err})
	}
	n.extend(o)
	return repeat, nil
}

// extend has the records of earlier turns live on, if the call takes longer than they do. If that
// fails, a client that plays the whole call again later begins another one.
func (n *notes) extend(o keep.Outcome) {
	if o.Extend == nil {
		return
	}
	ctx := context.WithoutCancel(n.w)
	for _, name := range o.Extend.Names {
		if n.k.turns.Extend(ctx, store.Key{Epoch: n.turn.Key.Epoch, Name: name}, o.Extend.Until) != nil {
			return
		}
	}
}

// recall answers a request with the outcome of the turn that another one ran.
func (n *notes) recall(a claim.Answer) (keep.Outcome, error) {
	if n.t.First != nil && !a.Unknown && !n.t.Late {
		return n.join(a)
	}
	kind, o := Repeated, keep.Outcome{}
	if a.Unknown {
		kind, o = Unknown, n.t.Handler.Cut(a.Left)
	} else {
		o = n.t.Handler.Read(a.Result)
	}
	if o.Repeated = true; a.Foreign {
		o.Joins = &keep.Joins{}
	}
	n.k.tell(n.w, n.t, listen.Entry{Kind: kind, Err: o.Err})
	return o, nil
}

// follow is the outcome of a turn that another request has taken over.
func (n *notes) follow() (keep.Outcome, error) {
	a, err := n.k.turns.Follow(n.w, n.turn)
	if errors.Is(err, store.ErrForgotten) {
		if key, ok := n.k.moved(n.w, n.turn.Key); ok {
			n.turn.Key = key
			a, err = n.k.turns.Follow(n.w, n.turn)
		}
	}
	if err != nil {
		return keep.Outcome{}, n.k.refused(n.w, n.t, err, true)
	}
	return n.recall(a)
}

// refused is the error of a request that neither runs its turn nor gets its outcome. begun says
// that the round had begun: its client may send the same request again all the same.
func (k *Keeper) refused(ctx context.Context, t keep.Turn, err error, begun bool) error {
	again := func(why, to, reason string) *jsonrpc.Error {
		return callerror.NotBegun(why+". Send the same request again"+to+".", reason)
	}
	switch {
	case errors.Is(err, claim.ErrSplit):
		return keep.ErrSplit
	case errors.Is(err, claim.ErrOtherwise) && t.First != nil:
		k.tell(ctx, t, listen.Entry{Kind: KeyRefused})
		return &keep.Refusal{Wire: callerror.OtherArguments(), Why: "its key was used with other arguments"}
	case errors.Is(err, claim.ErrOtherwise):
		wire := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "This round was answered before, and otherwise. Send those answers again for its result."}
		return &keep.Refusal{Wire: wire, Why: "other answers than those that the round was claimed with"}
	case errors.Is(err, claim.ErrInFlight):
		return &keep.Refusal{Wire: again("This round is still running", " for its result", "in_flight"), Why: "an equal request is still running"}
	case errors.Is(err, errStopped):
		return &keep.Refusal{Wire: callerror.ShuttingDown(), Why: err.Error()}
	case errors.Is(err, errTooManyOrphans):
		return &keep.Refusal{Wire: again("This request was not begun: too many of your earlier ones still run", " later", "busy"), Why: err.Error()}
	case errors.Is(err, store.ErrForgotten):
		if t.First != nil && !begun { // it relies on nothing yet
			k.records.Forgotten()
			return keep.ErrBeginAgain
		}
		epoch, _ := readMark(t.Mark)
		if follows, failed := k.follows(context.WithoutCancel(ctx), epoch); t.First == nil && (follows || failed != nil) {
			return &keep.Refusal{Wire: again("This request was not completed: the server's store was replaced", "", "store_unavailable"), Why: "store_unavailable", Cause: err}
		}
		wire := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: statecodec.Refusal}
		return &keep.Refusal{Wire: wire, Why: Forgotten}
	case ctx.Err() != nil && !begun:
		return ctx.Err()
	}
	reason, was := "store_unavailable", "not begun"
	if errors.Is(err, store.ErrFull) {
		reason = callerror.StoreFull
	}
	if begun {
		was = "not completed"
	}
	return &keep.Refusal{Wire: again("This request was "+was+": the server cannot remember it now", "", reason), Why: reason, Cause: err}
}

// Forgotten is the reason of a state that was refused because the store has lost its contents.
const Forgotten = "the store does not have the contents that its call relies on"

var errGivenUp = errors.New("the handler did not end with its context")
