package mrtr

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
)

// The effects that an error can report.
const (
	effectApplied = "applied"
	effectUnknown = "unknown"
	effectUndone  = "undone"
)

// outcome has the effects of a call by their names.
type outcome struct {
	applied []string // they have happened
	kept    []string // of those, the ones that could not be undone
	unknown []string // nobody knows whether they have, or whether they were undone
	undone  []string
}

// outcome names the effects of the call.
func (c *Call) outcome() outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st.outcome(slices.Sorted(maps.Keys(c.running.keys())))
}

// outcome names the effects of a history, beside which others are running. An effect that
// succeeded after an attempt of unknown outcome has happened.
func (st *state) outcome(running []string) (o outcome) {
	for i := range st.done {
		e := &st.done[i]
		if !e.kind.isAttempt() && !e.unknown {
			continue
		}
		undo := st.undoing(e.key)
		switch {
		case undo != nil && undo.unknown:
			o.unknown = append(o.unknown, e.key)
		case undo != nil && undo.kind == undoneEntry && (e.kind.isEffect() || e.unknown):
			o.undone = append(o.undone, e.key)
		case e.happened():
			o.applied = append(o.applied, e.key)
			if undo != nil {
				o.kept = append(o.kept, e.key)
			}
		case e.unknown || e.kind.isEffect():
			o.unknown = append(o.unknown, e.key)
		}
	}
	o.unknown = append(o.unknown, running...)
	o.unknown = slices.DeleteFunc(o.unknown, func(key string) bool { return slices.Contains(o.applied, key) })
	return outcome{effectNames(o.applied), effectNames(o.kept), effectNames(o.unknown), effectNames(o.undone)}
}

// effectNames are the keys as the author wrote them, each once.
func effectNames(keys []string) (names []string) {
	for _, key := range keys {
		if key = effectName(key); !slices.Contains(names, key) {
			names = append(names, key)
		}
	}
	return names
}

func effectName(key string) string {
	return strings.TrimPrefix(key, stepPrefix)
}

// reportEffects adds the call's effects to the error that ends it, so that
// nobody makes the call again blindly.
func (c *Call) reportEffects(err error) error {
	if isProtocolError(err) {
		return err
	}
	done := c.outcome()
	report := &effectsReported{error: err, effect: effectApplied}
	reported := false
	if e, ok := err.(*Error); ok {
		own := *e
		own.Applied, own.Unknown, own.Undone, own.NotUndone = done.applied, done.unknown, done.undone, done.kept
		report.error, reported = &own, own.reportsEffects()
		if own.Reason == FrameGone || own.Reason == OutcomeUnknown {
			report.effect = effectUnknown
		}
	}
	switch {
	case len(done.unknown) > 0:
		report.effect = effectUnknown
	case len(done.applied) > 0 || report.effect == effectUnknown:
	case len(done.undone) > 0:
		report.effect = effectUndone
	default:
		return report.error
	}
	switch {
	case reported:
	case len(done.unknown)+len(done.kept) > 0 && !isQuiet(err):
		report.advice = done.advice()
	default:
		report.hint = strings.TrimSpace(done.advice())
	}
	return report
}

// effectsReported is an error that reports the effects of its call.
type effectsReported struct {
	error
	effect string
	advice string // added to the text
	hint   string // where the text stays the error's own
}

func (e *effectsReported) Error() string {
	text := e.error.Error()
	if e.advice == "" {
		return text
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text + e.advice
}

func (e *effectsReported) Unwrap() error { return e.error }

// ToolErrorEffect is "applied" where effects are known to have happened, "unknown" where
// one may have, and "undone" where all of them were undone.
func (e *effectsReported) ToolErrorEffect() string { return e.effect }

// ToolErrorHints are the hints of the error, and one about the effects.
func (e *effectsReported) ToolErrorHints() (hints []string) {
	var inner interface{ ToolErrorHints() []string }
	if errors.As(e.error, &inner) {
		hints = slices.Clone(inner.ToolErrorHints())
	}
	if e.hint != "" {
		hints = append(hints, e.hint)
	}
	return hints
}

// ofUnknownOutcome reports whether an error of an effect leaves open whether the effect
// happened: its time ran out, it was cancelled, its connection ended after the request
// may have been sent, or the error says so itself. ctx is that of the effect.
func ofUnknownOutcome(ctx context.Context, err error) bool {
	if known := (*notDone)(nil); errors.As(err, &known) {
		return false
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return false // nothing was sent
	}
	var timeout interface{ Timeout() bool }
	var effect interface{ ToolErrorEffect() string }
	return ctx.Err() != nil ||
		slices.ContainsFunc(endsInDoubt, func(end error) bool { return errors.Is(err, end) }) ||
		errors.As(err, &timeout) && timeout.Timeout() ||
		errors.As(err, &effect) && effect.ToolErrorEffect() != "" && effect.ToolErrorEffect() != effectUndone
}

// endsInDoubt are the errors after which the other side may have done its work.
var endsInDoubt = []error{
	ErrIndeterminate, context.DeadlineExceeded, context.Canceled,
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE,
}

// NotDone marks an error of an effect as one after which the effect has not happened and
// will not: the bank's timeout while it only looked up the account, say. Without it a
// timeout, a cancelled context and a connection that ended leave the effect in doubt, see
// [Once]. The text and the chain stay those of err, and NotDone(nil) is nil.
func NotDone(err error) error {
	if err == nil {
		return nil
	}
	return &notDone{err}
}

type notDone struct{ error }

func (e *notDone) Unwrap() error { return e.error }

// unmarked is the error as its client gets it.
func unmarked(err error) error {
	if known, ok := err.(*notDone); ok {
		return known.error
	}
	return err
}

// With a store, the effects of a round that can run again are noted before they begin
// and when they have ended, so that none of them happens twice.

// inDoubt reports whether an attempt at an effect was made of which nobody knows whether
// it happened: in this round or an earlier one, or in a run of this round that was cut off.
func (c *Call) inDoubt(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st.inDoubt(key)
}

// settleDoubt notes that a check has found that an effect did not happen, and will not.
func (c *Call) settleDoubt(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.st.settleDoubt(key)
}

// attemptUnknown is the detail of a round that ended with an effect in doubt.
const attemptUnknown = "an effect of this call was begun before, and nobody knows how it ended"

// unknown ends the round with an effect in doubt. The client gets the error,
// whatever the handler makes of it.
func (c *Call) unknown(key string) error {
	err := outcomeUnknown(attemptUnknown, c.outcome().applied, []string{key})
	c.breakTurn(err)
	return err
}

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
