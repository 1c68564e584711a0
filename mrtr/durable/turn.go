package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// turn claims a turn and runs it, or recalls its outcome.
func (k *Keeper) turn(w *work, t mrtr.Turn, run func(ctx context.Context, n mrtr.Notes) mrtr.Outcome) (mrtr.Outcome, error) {
	turn := claim.Turn{
		Key: store.Key{Epoch: t.Mark, Name: t.Name}, Fingerprint: t.Fingerprint, Expires: t.Expires, Noted: t.Noted, Since: t.Since, Goes: t.Handler,
	}
	a, err := k.turns.Take(w, turn)
	if err != nil {
		return mrtr.Outcome{}, k.refused(w, err, false)
	}
	k.forget(t.Name)
	if a.Held == nil {
		return k.recall(w, t, a), nil
	}
	if err := k.works.enter(w); err != nil {
		a.Held.LetGo(w, a.Left)
		return mrtr.Outcome{}, k.refused(w, err, false)
	}
	if !t.Cancel && !w.unhook() { // its client has left before it was claimed
		<-w.Done()
		a.Held.LetGo(w, a.Left)
		return mrtr.Outcome{}, k.refused(w, w.Err(), false)
	}
	close(w.claimed)
	kind := Claimed
	if a.TookOver {
		kind = TakenOver
	}
	k.tell(w, t, mrtr.Entry{Kind: kind})
	n := &notes{k: k, t: t, held: a.Held, before: a.Left, since: a.Since, cutOff: a.TookOver}
	n.limit(w, t)
	concluded := false
	defer func() {
		if !concluded { // a panic: release the turn, or its claim would be renewed for ever
			n.end()
			a.Held.LetGo(w, n.effects())
		}
	}()
	out, err := k.conclude(w, t, turn, n, run(w, n))
	concluded = true
	return out, err
}

// conclude records the outcome of a turn that ran. It returns the one that the client gets:
// where another request has taken over, that is the other's.
func (k *Keeper) conclude(w *work, t mrtr.Turn, turn claim.Turn, n *notes, o mrtr.Outcome) (mrtr.Outcome, error) {
	switch broken := n.end(); {
	case errors.Is(broken, claim.ErrFenced):
		return k.follow(w, t, turn)
	case errors.Is(broken, errGivenUp):
		<-w.givenUp
		return w.short, nil
	case o.Free:
		n.held.LetGo(w, o.Left)
		return o, nil
	}
	b, repeat := t.Handler.Write(o)
	if o.Value != nil && len(b) > k.o.MaxResult+recordFrame || len(b) > k.o.MaxResult+recordOverhead {
		b = nil
	}
	err := n.held.Finish(w, b)
	switch {
	case errors.Is(err, claim.ErrFenced):
		return k.follow(w, t, turn)
	case errors.Is(err, store.ErrForgotten):
		k.records.Forgotten()
	}
	if err != nil { // the effects happened, so tell the client even though nothing was recorded
		k.tell(w, t, mrtr.Entry{Kind: NotRecorded, Err: err})
	}
	return repeat, nil
}

// recall answers a request with the outcome of the turn that another one ran.
func (k *Keeper) recall(ctx context.Context, t mrtr.Turn, a claim.Answer) mrtr.Outcome {
	kind, o := Repeated, mrtr.Outcome{}
	if a.Unknown {
		kind, o = Unknown, t.Handler.Cut(a.Left)
	} else {
		o = t.Handler.Read(a.Result)
	}
	o.Repeated = true
	k.tell(ctx, t, mrtr.Entry{Kind: kind, Err: o.Err})
	return o
}

// follow is the outcome of a turn that another request has taken over.
func (k *Keeper) follow(ctx context.Context, t mrtr.Turn, turn claim.Turn) (mrtr.Outcome, error) {
	a, err := k.turns.Follow(ctx, turn)
	if err != nil {
		return mrtr.Outcome{}, k.refused(ctx, err, true)
	}
	return k.recall(ctx, t, a), nil
}

// refused is the error of a request that neither runs its turn nor gets its outcome. begun says
// that the round had begun: its client may send the same request again all the same.
func (k *Keeper) refused(ctx context.Context, err error, begun bool) error {
	again := func(why, to, reason string) *jsonrpc.Error {
		return callerror.NotBegun(why+". Send the same request again"+to+".", reason)
	}
	switch {
	case errors.Is(err, claim.ErrOtherwise):
		wire := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "This round was answered before, and otherwise. Send those answers again for its result."}
		return mrtr.KeptBack(wire, "other answers than those that the round was claimed with", nil)
	case errors.Is(err, claim.ErrInFlight):
		return mrtr.KeptBack(again("This round is still running", " for its result", "in_flight"), "an equal request is still running", nil)
	case errors.Is(err, errTooManyOrphans):
		return mrtr.KeptBack(again("This request was not begun: too many of your earlier ones still run", " later", "busy"), err.Error(), nil)
	case errors.Is(err, store.ErrForgotten):
		k.records.Forgotten()
		wire := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: statecodec.Refusal}
		return mrtr.KeptBack(wire, Forgotten, nil)
	case ctx.Err() != nil && !begun:
		return ctx.Err()
	}
	reason, was := "store_unavailable", "not begun"
	if errors.Is(err, store.ErrFull) {
		reason = "store_full"
	}
	if begun {
		was = "not completed"
	}
	return mrtr.KeptBack(again("This request was "+was+": the server cannot remember it now", "", reason), reason, err)
}

// Forgotten is the reason of a state that was refused because the store has lost its contents.
const Forgotten = "the store does not have the contents that its call relies on"

var errGivenUp = errors.New("the handler did not end with its context")

// notes implements [mrtr.Notes] for a turn that is held.
type notes struct {
	k      *Keeper
	t      mrtr.Turn
	held   *claim.Held
	before []byte
	since  time.Time
	cutOff bool

	mu     sync.Mutex
	broken error // the turn can have no outcome of this run any more
	timer  *time.Timer
	of     mrtr.Effects
}

func (n *notes) Left() []byte { return n.before }
func (n *notes) CutOff() bool { return n.cutOff }

func (n *notes) Since() time.Time { return n.since }

func (n *notes) Watch(effects mrtr.Effects) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of = effects
}

func (n *notes) watched() mrtr.Effects {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of
}

// effects are those of the round as they are.
func (n *notes) effects() []byte {
	if of := n.watched(); of != nil {
		return of.Left()
	}
	return n.before
}

func (n *notes) Begun(ctx context.Context) error {
	given := func() error {
		if err := n.brokenBy(); !errors.Is(err, errGivenUp) { // whose effects may yet be undone
			return err
		}
		return nil
	}
	if err := given(); err != nil {
		return err
	}
	err := n.held.Note(ctx, n.effects())
	switch {
	case err == nil:
		return given()
	case errors.Is(err, claim.ErrFenced):
		n.breakBy(err)
	case ctx.Err() == nil:
		err = n.k.refused(ctx, err, true)
	default:
		err = ctx.Err()
	}
	return err
}

func (n *notes) Ended() {
	if !n.held.Ended(n.effects()) {
		n.breakBy(claim.ErrFenced)
	}
}

func (n *notes) brokenBy() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

func (n *notes) breakBy(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken == nil {
		n.broken = err
	}
}

// grace is how long a handler may go on after its context has ended, and its effects with theirs.
const grace = 10 * time.Second

// limit ends a round when its time is up, and gives it up if its handler does not end then.
func (n *notes) limit(w *work, t mrtr.Turn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.timer = time.AfterFunc(t.Within, func() {
		w.cancel(&mrtr.CutOff{Why: fmt.Sprintf("this round took longer than the %v it has", t.Within)})
		n.again(w, grace)
	})
}

// again gives the round up later, unless it has ended.
func (n *notes) again(w *work, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer = time.AfterFunc(d, func() { n.giveUp(w) })
	}
}

// giveUp ends the turn of a handler that did not end with its context, so that it does not hold
// the turn for ever: no effect of it begins any more. Effects that run have their own time.
func (n *notes) giveUp(w *work) {
	of := n.watched()
	if of == nil { // its goroutine has not come to it
		n.again(w, grace)
		return
	}
	if until := of.Busy(); !until.IsZero() && time.Until(until) > -grace {
		n.again(w, max(time.Until(until), 0)+grace)
		return
	}
	n.mu.Lock()
	over := n.timer == nil || n.broken != nil
	if !over {
		n.broken = errGivenUp
	}
	n.mu.Unlock()
	if over {
		return
	}
	o := of.GiveUp(whyEnded(w))
	if o.Free {
		n.held.LetGo(context.Background(), o.Left)
	} else {
		b, _ := n.t.Handler.Write(o)
		_ = n.held.Finish(context.Background(), b)
	}
	w.short = o
	close(w.givenUp)
}

// end stops the timer of a turn that has ended, and says what broke it.
func (n *notes) end() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	return n.broken
}

// whyEnded is why the context of a round has ended.
func whyEnded(ctx context.Context) string {
	cut := (*mrtr.CutOff)(nil)
	if errors.As(context.Cause(ctx), &cut) {
		return cut.Why
	}
	return "the server ended this round"
}
