package mrtr

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/store"
)

// A turn is a round that enters the handler or ends the call. With a store each turn
// runs for one request, and the others that ask for it get the same result.

// turnClaim is the claim of the round that runs a turn. The ledger of the round and
// that of its linear run share it.
type turnClaim struct {
	held *claim.Held
	turn claim.Turn
	base int     // of the entries that are no answers, those that came with the state
	left []entry // by an earlier run of the turn

	mu     sync.Mutex
	open   []entry // effects noted as begun that have not ended
	broken error   // the turn cannot have a result any more
	runner *ledger // that of its linear run, or its own
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
	cl := &turnClaim{held: answer.Held, turn: turn, base: c.st.done.countEffects(), runner: c.ledger}
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
func (l *ledger) turnRefused(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, claim.ErrOtherwise):
		l.observe(ctx, Event{Kind: RoundRefused, Reason: "other answers than those that the round was claimed with"})
		return invalidParams("This round was answered before, and otherwise." + sendThose)
	case errors.Is(err, claim.ErrInFlight):
		l.observe(ctx, Event{Kind: RoundRefused, Reason: "an equal request is still running"})
		return sendAgain("This round is still running", " for its result", "in_flight")
	case errors.Is(err, errTooManyOrphans):
		l.observe(ctx, Event{Kind: RoundRefused, Reason: err.Error()})
		return sendAgain("This request was not begun: too many of your earlier ones still run", " later", "busy")
	case errors.Is(err, store.ErrForgotten):
		l.rt.memory.forgotten()
		return l.refuseState(ctx, forgottenContents)
	case ctx.Err() != nil:
		l.observe(ctx, Event{Kind: RoundRefused, Reason: clientLeft})
		return ctx.Err()
	}
	return l.storeFailed(ctx, err)
}

// clientLeft is the reason of a round that was not begun, and is nobody's fault.
const clientLeft = "its client has left"

const forgottenContents = "the store does not have the contents that its call relies on"

// storeFailed answers a request that the store could not be asked about. The client may
// send the same request again, also if its round has begun: it goes on there.
func (l *ledger) storeFailed(ctx context.Context, err error) error {
	reason := "store_unavailable"
	if errors.Is(err, store.ErrFull) {
		reason = "store_full"
	}
	l.observe(ctx, Event{Kind: RoundRefused, Reason: reason, Err: err})
	was := "not begun"
	if l.currentClaim() != nil {
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
			return !c.st.done.hasEffects()
		}
		return true
	}
	var misused *UsageError
	var r interface{ ToolErrorRetryable() bool }
	return errors.As(err, &misused) && misused != errExited || errors.As(err, &r) && r.ToolErrorRetryable()
}
