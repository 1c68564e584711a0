package mrtr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
