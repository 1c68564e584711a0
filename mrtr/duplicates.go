package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/mrtr-go/sdk/internal/rpcerror"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/field"
	"github.com/mrtr-go/sdk/store"
)

// A turn is a round that enters the handler or ends the call. With a store each turn
// runs for one request, and the others that ask for it get the same result.

// turnClaim is the claim of the round that runs a turn. The call of the round and that
// of its linear run share it.
type turnClaim struct {
	held *claim.Held
	turn claim.Turn
	base int // of the entries that are no answers, those that came with the state

	mu     sync.Mutex
	begun  []string        // effects noted as begun that have not ended
	doubts map[string]bool // effects that an earlier run began
	broken error           // the turn cannot have a result any more
}

// takeTurn claims the turn of a round whose answers have been judged. It is answered
// where the turn has run, or does not run here. ended is the error by which the answers
// end the call, such as a decline.
func (c *Call) takeTurn(ctx context.Context, ended error, to recordable) (out *asked, answered bool, _ error) {
	turn := c.turn(c.answersOf(ended))
	answer, ran := c.awaitOwner(ctx, turn)
	var err error
	if !ran {
		answer, err = c.rt.memory.turns.Take(ctx, turn)
	}
	if err != nil {
		c.elsewhere = true
		return nil, true, c.turnRefused(ctx, err)
	}
	if answer.Held == nil {
		c.elsewhere = true
		out, err = c.recall(ctx, answer, to)
		return out, true, err
	}
	cl := &turnClaim{held: answer.Held, turn: turn, base: c.st.countDeeds()}
	if len(answer.Left.Begun) > 0 {
		cl.doubts = map[string]bool{}
		for _, key := range answer.Left.Begun {
			cl.doubts[key] = true
		}
	}
	c.mu.Lock()
	c.claim = cl
	c.st.takeOver(readDeeds(answer.Left.Effects))
	c.mu.Unlock()
	if c.ex.forwarded != nil {
		close(c.ex.forwarded.claimed)
	}
	kind := RoundClaimed
	if answer.TookOver {
		kind = RoundTakenOver
	}
	c.observe(ctx, Event{Kind: kind})
	return nil, false, nil
}

// awaitOwner waits for the outcome of a turn that can only run where its frame is, and
// that is not here. The same request may have reached the owner too: to claim the turn
// first would end in an error that says to call again, while the owner completes the
// call. Where nobody claims the turn within the store's patience, the owner is gone.
func (c *Call) awaitOwner(ctx context.Context, turn claim.Turn) (answer claim.Answer, ran bool) {
	m := c.rt.memory
	switch {
	case c.target.replays || c.st.frame == "" || c.rt.frames.holds(c.st.frame):
		return answer, false
	case c.holder() != "" || m.store.Scope() == store.Process: // it was asked, or there is no other
		return answer, false
	}
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	answer, err := m.turns.Follow(ctx, turn)
	return answer, err == nil
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

// byPerson reports whether a call was ended by the answers of its user.
func byPerson(err error) bool {
	e, ok := err.(*Error)
	return ok && (e.Reason == Declined || e.Reason == Cancelled || e.Reason == Unanswered)
}

// turnRefused answers a request that neither runs its turn nor gets its result.
func (c *Call) turnRefused(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, claim.ErrOtherwise):
		c.observe(ctx, Event{Kind: RoundRefused, Reason: "other answers than those that the round was claimed with"})
		return answeredOtherwise()
	case errors.Is(err, claim.ErrInFlight):
		c.observe(ctx, Event{Kind: RoundRefused, Reason: "an equal request is still running"})
		return rpcerror.Retryable("This round is still running. Send the same request again for its result.", "in_flight")
	case errors.Is(err, store.ErrForgotten):
		c.rt.memory.forgotten()
		return c.refuseState(ctx, forgottenContents)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return c.storeFailed(ctx, err)
}

const forgottenContents = "the store does not have the contents that its call relies on"

// storeFailed answers a request that the store could not be asked about. Nothing was
// run, and the client may send the same request again.
func (c *Call) storeFailed(ctx context.Context, err error) error {
	reason := "store_unavailable"
	if errors.Is(err, store.ErrFull) {
		reason = "store_full"
	}
	c.observe(ctx, Event{Kind: RoundRefused, Reason: reason, Err: err})
	return rpcerror.Retryable("This request was not begun: the server cannot remember it now. Send the same request again.", reason)
}

// recall answers a request with the outcome of the turn that another one ran.
func (c *Call) recall(ctx context.Context, answer claim.Answer, to recordable) (*asked, error) {
	if answer.Unknown {
		err := outcomeUnknown(deedsDone(answer.Left.Effects), answer.Left.Begun)
		c.observe(ctx, Event{Kind: RoundUnknown, Reason: "its instance fell silent", Err: err})
		return nil, err
	}
	out, err := c.readOutcome(answer.Result, to)
	c.observe(ctx, Event{Kind: RoundRepeated, Err: err})
	return out, err
}

// conclude records the outcome of the turn that this round ran. It returns the one
// that its client gets: where another request has taken over, that is the other's.
func (c *Call) conclude(ctx context.Context, out *asked, err error, from recordable) (*asked, error) {
	c.mu.Lock()
	cl := c.claim
	c.mu.Unlock()
	if broken := cl.brokenBy(); broken != nil {
		c.abandonFrame(endOf(ctx))
		if errors.Is(broken, claim.ErrFenced) {
			return c.follow(ctx, from)
		}
		cl.held.LetGo(ctx, c.left(cl))
		return nil, broken
	}
	if err != nil && c.letsGo(ctx, err) {
		cl.held.LetGo(ctx, c.left(cl))
		return nil, err
	}
	reference := c.refer(out, cl.held)
	result, panicked := c.tryOutcome(out, reference, err, from)
	if panicked != nil {
		out, err = nil, c.tellEffects(panicked)
		result = c.writeOutcome(nil, "", err, from)
	}
	switch failed := cl.held.Finish(ctx, result); {
	case failed == nil:
		if reference != "" && out != nil && cl.held.Kept() {
			out.token = reference
		}
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
func (c *Call) follow(ctx context.Context, to recordable) (*asked, error) {
	c.mu.Lock()
	turn := c.claim.turn
	c.claim, c.elsewhere = nil, true
	c.mu.Unlock()
	answer, err := c.rt.memory.turns.Follow(ctx, turn)
	if err != nil {
		return nil, c.turnRefused(ctx, err)
	}
	return c.recall(ctx, answer, to)
}

// goesOn reports whether the turn of a round that failed is left to other requests, so
// that the call has not ended: it was given to another one, or is let go of.
func (c *Call) goesOn(ctx context.Context, err error) bool {
	c.mu.Lock()
	cl := c.claim
	c.mu.Unlock()
	return cl != nil && (cl.brokenBy() != nil || c.letsGo(ctx, err))
}

// letsGo reports whether an error is the engine's and no outcome of the turn: whoever
// sends the same request next goes on where this one ended.
func (c *Call) letsGo(ctx context.Context, err error) bool {
	if isProtocolError(err) || ctx.Err() != nil {
		return true
	}
	var e *Error
	if errors.As(err, &e) {
		switch e.Reason {
		case Declined, Cancelled, Unanswered, LimitExceeded:
			return false
		}
		return true
	}
	var misused *UsageError
	var r interface{ ToolErrorRetryable() bool }
	return errors.As(err, &misused) || errors.As(err, &r) && r.ToolErrorRetryable()
}

// left are the effects of a turn that ends without an outcome: those that ended, and
// those of which nobody knows whether they happened.
func (c *Call) left(cl *turnClaim) claim.Left {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := cl.openEffects()
	for key := range c.running {
		begun = appendNew(begun, key)
	}
	var ended []entry
	for _, e := range c.st.deedsSince(cl.base) {
		if e.unknown && !e.kind.isEffect() {
			begun = appendNew(begun, e.key)
			continue
		}
		ended = append(ended, e)
	}
	return claim.Left{Effects: appendDeeds(ended), Begun: begun}
}

// openEffects are the effects that began and have not ended. The caller holds cl.mu.
func (cl *turnClaim) openEffects() []string {
	open := slices.Clone(cl.begun)
	for key := range cl.doubts {
		open = appendNew(open, key)
	}
	slices.Sort(open)
	return open
}

func appendNew(keys []string, key string) []string {
	if slices.Contains(keys, key) {
		return keys
	}
	return append(keys, key)
}

func (cl *turnClaim) brokenBy() error {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.broken
}

// countDeeds counts the entries that are no answers. They are never taken away, and
// keep their order.
func (st *state) countDeeds() (n int) {
	for i := range st.done {
		if st.done[i].kind != answerEntry {
			n++
		}
	}
	return n
}

// deedsSince are the entries that are no answers, after the first n.
func (st *state) deedsSince(n int) (deeds []entry) {
	for i := range st.done {
		if e := st.done[i]; e.kind != answerEntry {
			if n--; n < 0 {
				deeds = append(deeds, e)
			}
		}
	}
	return deeds
}

// appendDeeds writes entries for a record, nil where there are none.
func appendDeeds(deeds []entry) json.RawMessage {
	if len(deeds) == 0 {
		return nil
	}
	f := field.WriteLegible(nil)
	entryFields(&f, "done", &deeds)
	return f.End()
}

func readDeeds(b json.RawMessage) (deeds []entry) {
	if len(b) == 0 {
		return nil
	}
	f := field.ReadLegible(b)
	entryFields(&f, "done", &deeds)
	return deeds
}

// deedsDone are the effects that are known to have happened.
func deedsDone(effects json.RawMessage) (keys []string) {
	deeds := readDeeds(effects)
	for i := range deeds {
		if deeds[i].happened() {
			keys = append(keys, deeds[i].key)
		}
	}
	return keys
}
