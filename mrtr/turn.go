package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/store"
)

// A turn is a round that enters the handler or ends the call. With a store each turn
// runs for one request, and the others that ask for it get the same result.

// turnClaim is the claim of the round that runs a turn. The call of the round and that
// of its linear run share it.
type turnClaim struct {
	held *claim.Held
	turn claim.Turn
	base int     // of the entries that are no answers, those that came with the state
	left []entry // by an earlier run of the turn

	mu     sync.Mutex
	open   []entry // effects noted as begun that have not ended
	broken error   // the turn cannot have a result any more
	runner *Call   // that of its linear run, or its own
	// effects counts those that run, and until is when the last of them is to end.
	effects int
	until   time.Time
}

// acted reports whether an earlier run of the turn had effects.
func (cl *turnClaim) acted() bool {
	return slices.ContainsFunc(cl.left, func(e entry) bool { return !e.kind.isUndoing() })
}

// takeTurn claims the turn of a round whose answers have been judged. It is answered
// where the turn has run, or does not run here. ended is the error by which the answers
// end the call, such as a decline; an earlier claim may decide it otherwise.
func (c *Call) takeTurn(ctx context.Context, ended *error, to round) (out *asked, answered bool, _ error) {
	turn, answer, judged, err := c.claimAnswers(ctx, *ended)
	*ended = judged
	if err != nil {
		c.phase = elsewhere
		return nil, true, c.turnRefused(ctx, err)
	}
	if answer.Held == nil {
		c.phase = elsewhere
		if c.st.frame != "" && !answer.Unknown {
			c.rt.frames.drop(c.st.frame) // it is here, and another instance ran the turn
		}
		out, err = c.recall(ctx, answer, to)
		return out, true, err
	}
	cl := &turnClaim{held: answer.Held, turn: turn, base: c.st.countEffects(), runner: c}
	if err := c.takeOn(cl); err != nil {
		c.phase = elsewhere
		cl.held.LetGo(ctx, answer.Left)
		return nil, true, c.turnRefused(ctx, err)
	}
	cl.left = readEffects(answer.Left)
	c.mu.Lock()
	c.claim = cl
	c.st.takeOver(cl.left)
	c.mu.Unlock()
	kind := RoundClaimed
	if answer.TookOver {
		kind = RoundTakenOver
	}
	c.observe(ctx, Event{Kind: kind})
	c.doubtUndoings(ctx)
	return nil, false, nil
}

// answersOf is the fingerprint of the judged answers of a round: of their meaning,
// whatever their spelling.
func (c *Call) answersOf(ended error) string {
	pending := c.answered
	if pending == nil {
		pending = c.st.pending
	}
	text := make([]byte, 0, 256)
	for i := range pending {
		p := &pending[i]
		wording := p.digestBytes()
		text = append(append(text, p.key...), 0)
		text = append(append(text, wording[:]...), 0)
		text = append(append(text, p.answer...), 0)
	}
	if ended != nil {
		text = append(text, ended.Error()...)
	}
	return digest.Short(text)
}

// endedByAnswers reports whether a call was ended by the answers of its user.
func endedByAnswers(err error) bool {
	e, ok := err.(*Error)
	return ok && (e.Reason == Declined || e.Reason == Cancelled || e.Reason == Unanswered || e.Reason == Diverged)
}

// turnRefused answers a request that neither runs its turn nor gets its result.
func (c *Call) turnRefused(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, claim.ErrOtherwise):
		c.observe(ctx, Event{Kind: RoundRefused, Reason: "other answers than those that the round was claimed with"})
		return invalidParams("This round was answered before, and otherwise." + sendThose)
	case errors.Is(err, claim.ErrInFlight):
		c.observe(ctx, Event{Kind: RoundRefused, Reason: "an equal request is still running"})
		return sendAgain("This round is still running", " for its result", "in_flight")
	case errors.Is(err, errTooManyOrphans):
		c.observe(ctx, Event{Kind: RoundRefused, Reason: err.Error()})
		return sendAgain("This request was not begun: too many of your earlier ones still run", " later", "busy")
	case errors.Is(err, store.ErrForgotten):
		c.rt.memory.forgotten()
		return c.refuseState(ctx, forgottenContents)
	case ctx.Err() != nil:
		c.observe(ctx, Event{Kind: RoundRefused, Reason: clientLeft})
		return ctx.Err()
	}
	return c.storeFailed(ctx, err)
}

// clientLeft is the reason of a round that was not begun, and is nobody's fault.
const clientLeft = "its client has left"

const forgottenContents = "the store does not have the contents that its call relies on"

// storeFailed answers a request that the store could not be asked about. The client may
// send the same request again, also if its round has begun: it goes on there.
func (c *Call) storeFailed(ctx context.Context, err error) error {
	reason := "store_unavailable"
	if errors.Is(err, store.ErrFull) {
		reason = "store_full"
	}
	c.observe(ctx, Event{Kind: RoundRefused, Reason: reason, Err: err})
	was := "not begun"
	if c.currentClaim() != nil {
		was = "not completed"
	}
	return sendAgain("This request was "+was+": the server cannot remember it now", "", reason)
}

// recall answers a request with the outcome of the turn that another one ran.
func (c *Call) recall(ctx context.Context, answer claim.Answer, to round) (*asked, error) {
	c.reportAnswers(ctx, AnswerRepeated)
	if answer.Unknown {
		left := state{done: readEffects(answer.Left)}
		done := left.outcome(nil)
		err := outcomeUnknown("", done.applied, done.unknown)
		c.doubtRound(ctx, err, done.unknown)
		return nil, err
	}
	out, err := c.readOutcome(answer.Result, to)
	c.observe(ctx, Event{Kind: RoundRepeated, Err: err})
	return out, err
}

// conclude records the outcome of the turn that this round ran. It returns the one
// that its client gets: where another request has taken over, that is the other's.
func (c *Call) conclude(ctx context.Context, out *asked, err error, from round) (*asked, error) {
	cl := c.currentClaim()
	c.ex.work.release(cl)
	if broken := cl.brokenBy(); broken != nil {
		c.abandonFrame(endOf(ctx))
		if errors.Is(broken, claim.ErrFenced) {
			return c.follow(ctx, from)
		}
		cl.held.LetGo(ctx, c.leftovers(cl))
		return nil, broken
	}
	if err != nil && c.releases(ctx, err) {
		cl.held.LetGo(ctx, c.leftovers(cl))
		return nil, err
	}
	result, panicked := c.tryOutcome(out, err, from)
	if panicked != nil {
		out, err = nil, c.reportEffects(panicked)
		result = c.writeOutcome(nil, err, from)
	}
	switch failed := cl.held.Finish(ctx, result); {
	case failed == nil:
	case errors.Is(failed, claim.ErrFenced):
		c.abandonFrame(endOf(ctx))
		return c.follow(ctx, from)
	default: // the effects have happened, and the client is to know
		if errors.Is(failed, store.ErrForgotten) {
			c.rt.memory.forgotten()
		}
		c.observe(ctx, Event{Kind: RoundNotRecorded, Err: failed})
	}
	return out, err
}

// follow answers the request of a round that was taken over with what became of it.
func (c *Call) follow(ctx context.Context, to round) (*asked, error) {
	c.mu.Lock()
	turn := c.claim.turn
	c.claim, c.phase = nil, elsewhere
	c.mu.Unlock()
	answer, err := c.rt.memory.turns.Follow(ctx, turn)
	if err != nil {
		return nil, c.turnRefused(ctx, err)
	}
	return c.recall(ctx, answer, to)
}

// resumable reports whether the turn of a round that failed is left to other requests, so
// that the call has not ended: it was given to another one, or is let go of.
func (c *Call) resumable(ctx context.Context, err error) bool {
	cl := c.currentClaim()
	return cl != nil && (cl.brokenBy() != nil || c.releases(ctx, err))
}

// releases reports whether an error is the engine's and no outcome of the turn: whoever
// sends the same request next goes on where this one ended.
func (c *Call) releases(ctx context.Context, err error) bool {
	if c.onlyHere { // a coroutine that has ended has no handler to go on with
		return false
	}
	cut := ctx.Err() != nil && !c.isTaskCancelled(ctx) && (c.phase != entered || c.target.again || c.target.cancel)
	if isProtocolError(err) || cut {
		return true
	}
	var e *Error
	if errors.As(err, &e) {
		switch e.Reason {
		case Declined, Cancelled, Unanswered, LimitExceeded, OutcomeUnknown:
			return false
		case FrameGone: // it does not come back, and nobody may go on in a handler that wakes up
			return c.target.replays
		case Diverged: // its effects stand on other answers, and nobody goes on with them
			return !c.st.hasEffects()
		}
		return true
	}
	var misused *UsageError
	var r interface{ ToolErrorRetryable() bool }
	return errors.As(err, &misused) && misused != errExited || errors.As(err, &r) && r.ToolErrorRetryable()
}

// leftovers are the effects of a turn that ends without an outcome.
func (c *Call) leftovers(cl *turnClaim) json.RawMessage {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return c.leaving(cl)
}

// leaving returns the effects of a turn for whoever goes on: those that have ended, and
// those that are open, which are in doubt then. Failures after the last effect that happened
// or may have are left out, so that the code does not meet them again. Those before it
// stay, since they decided the way to it: the first card was refused, and the second one
// charged. The caller holds cl.mu.
func (c *Call) leaving(cl *turnClaim) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, open := c.st.effectsSince(cl.base), slices.Clone(cl.open)
	for _, key := range slices.Sorted(maps.Keys(c.running.keys())) {
		if !slices.ContainsFunc(open, func(e entry) bool { return e.key == key && e.kind == triedEntry }) {
			open = append(open, openEffect(key, false))
		}
	}
	for end := len(entries); len(open) == 0 && end > 0 && entries[end-1].kind.isFailure(); {
		end--
		if e := entries[end]; e.unknown {
			open = append(open, openEffect(e.key, e.free))
		}
		entries = entries[:end]
	}
	return writeEffects(append(entries, open...))
}

func (cl *turnClaim) brokenBy() error {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.broken
}

// With a store, the effects of a round that can run again are noted before they begin
// and when they have ended, so that none of them happens twice.

// journalStart notes that an effect is about to begin. Where that fails it must not, and
// the round has no result.
func (c *Call) journalStart(ctx context.Context, open entry) error {
	cl := c.currentClaim()
	if cl == nil {
		return nil
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.broken != nil {
		return cl.broken
	}
	if !c.target.again {
		return nil
	}
	cl.open = append(cl.open, open)
	err := cl.held.Note(ctx, c.leaving(cl))
	if err == nil {
		return nil
	}
	cl.close(open)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cl.broken = err
	if !errors.Is(err, claim.ErrFenced) {
		cl.broken = c.turnRefused(ctx, err)
	}
	return cl.broken
}

// journalEnd notes that an effect has ended, with the outcome that the state has.
func (c *Call) journalEnd(open entry) {
	cl := c.currentClaim()
	if cl == nil {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if !cl.close(open) || cl.broken != nil {
		return
	}
	if !cl.held.Ended(c.leaving(cl)) {
		cl.broken = claim.ErrFenced
	}
}

func (c *Call) breakTurn(err error) {
	if cl := c.currentClaim(); cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if cl.broken == nil {
			cl.broken = err
		}
	}
}

func (c *Call) currentClaim() *turnClaim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claim
}

// An effect that has begun, or the undoing of one, stands in the record of its turn as one
// in doubt, until it has ended.

func openEffect(key string, free bool) entry {
	return entry{kind: triedEntry, key: key, unknown: true, free: free}
}

func openUndoing(key string) entry { return entry{kind: undoneEntry, key: key, unknown: true} }

// close takes an effect from those that have begun. The caller holds cl.mu.
func (cl *turnClaim) close(open entry) bool {
	i := slices.IndexFunc(cl.open, func(e entry) bool { return e.kind == open.kind && e.key == open.key })
	if i < 0 {
		return false
	}
	cl.open = slices.Delete(cl.open, i, i+1)
	return true
}

// journalDrop forgets an effect that has ended without one, for the record of a turn that
// is let go of.
func (c *Call) journalDrop(open entry) {
	if cl := c.currentClaim(); cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		cl.close(open)
	}
}
