package mrtr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
)

// The effects that an error can report.
const (
	effectApplied = "applied"
	effectUnknown = "unknown"
)

// outcome returns the keys of the effects that have happened, and of those of which
// nobody knows whether they have. An effect that succeeded after an attempt
// of unknown outcome has happened.
func (c *Call) outcome() (applied, unknown []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.st.done {
		switch e := &c.st.done[i]; {
		case e.happened():
			applied = append(applied, e.key)
		case e.unknown || e.kind.isEffect():
			unknown = append(unknown, e.key)
		}
	}
	unknown = append(unknown, slices.Sorted(maps.Keys(c.running))...)
	unknown = slices.DeleteFunc(unknown, func(key string) bool { return slices.Contains(applied, key) })
	return effectNames(applied), effectNames(unknown)
}

// effectNames are the keys as the author wrote them, each once.
func effectNames(keys []string) (names []string) {
	for _, key := range keys {
		if key = strings.TrimPrefix(key, stepPrefix); !slices.Contains(names, key) {
			names = append(names, key)
		}
	}
	return names
}

// tellEffects adds the call's effects to the error that ends it, so that
// nobody makes the call again blindly.
func (c *Call) tellEffects(err error) error {
	if isProtocolError(err) {
		return err
	}
	applied, unknown := c.outcome()
	told := &effectsTold{error: err, effect: effectApplied}
	tellsItself := false
	if e, ok := err.(*Error); ok {
		own := *e
		own.Applied, own.Unknown = applied, unknown
		told.error, tellsItself = &own, own.tellsEffects()
		if own.Reason == FrameGone || own.Reason == OutcomeUnknown {
			told.effect = effectUnknown
		}
	}
	if len(unknown) > 0 {
		told.effect = effectUnknown
	}
	switch {
	case len(applied) == 0 && told.effect == effectApplied:
		return told.error
	case tellsItself:
	case len(unknown) > 0 && !isQuiet(err):
		told.advice = adviceOn(applied, unknown)
	default:
		told.hint = strings.TrimSpace(adviceOn(applied, unknown))
	}
	return told
}

// effectsTold is an error that reports the effects of its call.
type effectsTold struct {
	error
	effect string
	advice string // added to the text
	hint   string // where the text stays the error's own
}

func (e *effectsTold) Error() string {
	text := e.error.Error()
	if e.advice == "" {
		return text
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text + e.advice
}

func (e *effectsTold) Unwrap() error { return e.error }

// ToolErrorEffect is "applied" where effects are known to have happened, and
// "unknown" where one may have.
func (e *effectsTold) ToolErrorEffect() string { return e.effect }

// ToolErrorHints are the hints of the error, and one about the effects.
func (e *effectsTold) ToolErrorHints() (hints []string) {
	var inner interface{ ToolErrorHints() []string }
	if errors.As(e.error, &inner) {
		hints = slices.Clone(inner.ToolErrorHints())
	}
	if e.hint != "" {
		hints = append(hints, e.hint)
	}
	return hints
}

// tellsEffects reports whether the error's text says what to do after the effects.
func (e *Error) tellsEffects() bool {
	switch e.Reason {
	case FrameGone, Diverged, Busy, ShuttingDown, OutcomeUnknown, ResultNotKept:
		return true
	}
	return false
}

// advice is the last sentence of a text: the other one only if nothing was done.
func (e *Error) advice(ifNothing string) string {
	if (e.Reason == FrameGone || e.Reason == OutcomeUnknown) && len(e.Unknown) == 0 {
		if len(e.Applied) == 0 {
			return " What it has done is unknown: " + checkFirst
		}
		return " " + wereDone(e.Applied) + ", and perhaps more: " + checkFirst
	}
	if len(e.Applied)+len(e.Unknown) == 0 {
		return ifNothing
	}
	return adviceOn(e.Applied, e.Unknown)
}

const checkFirst = "do not call the tool again without checking."

func adviceOn(applied, unknown []string) string {
	switch {
	case len(unknown) == 0:
		return " " + wereDone(applied) + ": " + checkFirst
	case len(applied) == 0:
		return " Whether " + wereDone(unknown) + " is unknown: " + checkFirst
	}
	return " " + wereDone(applied) + "; whether " + wereDone(unknown) + " is unknown: " + checkFirst
}

func wereDone(keys []string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = fmt.Sprintf("%q", key)
	}
	if len(keys) == 1 {
		return quoted[0] + " was done"
	}
	return strings.Join(quoted, ", ") + " were done"
}

// ofUnknownOutcome reports whether an error of an effect leaves open whether the effect
// happened: its time ran out, it was cancelled, or the error says so itself.
func ofUnknownOutcome(ctx context.Context, err error) bool {
	if known := (*didNotHappen)(nil); errors.As(err, &known) {
		return false
	}
	var timeout interface{ Timeout() bool }
	var effect interface{ ToolErrorEffect() string }
	return ctx.Err() != nil ||
		errors.Is(err, ErrIndeterminate) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, &timeout) && timeout.Timeout() ||
		errors.As(err, &effect) && effect.ToolErrorEffect() != ""
}

// With a store, the effects of a round that can run again are noted before they begin
// and when they have ended, so that none of them happens twice.

// doubt is why nobody knows whether an effect happened.
type doubt int

const (
	noDoubt      doubt = iota
	cutOffBefore       // in an earlier run of this round
	triedBefore        // in an attempt that this run, or an earlier round, knows of
)

func (c *Call) doubt(key string) doubt {
	c.mu.Lock()
	cl := c.claim
	tried := false
	for i := range c.st.done {
		if e := &c.st.done[i]; e.key == key && e.kind.isAttempt() && e.unknown {
			tried = true
		}
	}
	c.mu.Unlock()
	if cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if cl.doubts[key] {
			return cutOffBefore
		}
	}
	if tried {
		return triedBefore
	}
	return noDoubt
}

// unknown ends the round with an effect in doubt. The client gets the error,
// whatever the handler makes of it.
func (c *Call) unknown(key string) error {
	applied, _ := c.outcome()
	err := outcomeUnknown(applied, []string{key})
	c.breakTurn(err)
	return err
}

// noteBegin notes that an effect is about to begin. Where that fails it must not, and
// the round has no result.
func (c *Call) noteBegin(ctx context.Context, key string) error {
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
	cl.begun = append(cl.begun, key)
	err := cl.held.Note(ctx, c.deedsOf(cl), cl.openEffects())
	if err == nil {
		return nil
	}
	cl.forget(key)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cl.broken = err
	if !errors.Is(err, claim.ErrFenced) {
		cl.broken = c.turnRefused(ctx, err)
	}
	return cl.broken
}

// noteEnd notes that an effect has ended, with the outcome that the state has.
func (c *Call) noteEnd(key string) {
	cl := c.currentClaim()
	if cl == nil {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	noted := cl.forget(key)
	delete(cl.doubts, key)
	if !noted || cl.broken != nil {
		return
	}
	// A failure shows when the outcome is recorded, and is no reason to stop now.
	if err := cl.held.Note(context.Background(), c.deedsOf(cl), cl.openEffects()); errors.Is(err, claim.ErrFenced) {
		cl.broken = err
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

func (c *Call) deedsOf(cl *turnClaim) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return appendDeeds(c.st.deedsSince(cl.base))
}

// forget takes an effect from those that have begun. The caller holds cl.mu.
func (cl *turnClaim) forget(key string) bool {
	i := slices.Index(cl.begun, key)
	if i < 0 {
		return false
	}
	cl.begun = slices.Delete(cl.begun, i, i+1)
	return true
}

// unnote forgets an effect that has ended without one, for the record of a turn that
// is let go of.
func (c *Call) unnote(key string) {
	if cl := c.currentClaim(); cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		cl.forget(key)
	}
}

func stillUnknown(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(ErrIndeterminate, err)
}

// didNotHappen is an error of unknown outcome after a Check has told the outcome.
type didNotHappen struct{ error }

func (e *didNotHappen) Unwrap() error { return e.error }
