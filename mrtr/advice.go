package mrtr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/callerror"
)

// All sentences that advise a client are in this file. One that makes a new call is given
// only if the call has done nothing and nothing of it is in doubt. The same request may
// be sent again whatever was done: with a store it goes on, and does nothing twice.
const (
	callAgain  = " Call the tool again."
	tryLater   = " Try again later."
	sameAgain  = " Send the same request again"
	sendThose  = " Send those answers again for its result."
	atThePage  = "Whether the user was done there is unknown: " + checkFirst
	checkFirst = "do not call the tool again without checking."

	sendElsewhere = "This server is shutting down and has not begun this request: send it again as it is."
)

// sendAgain refuses a request that its client may send again as it is. to goes on with
// the sentence that says so.
func sendAgain(why, to, reason string) error {
	return callerror.NotBegun(why+"."+sameAgain+to+".", reason)
}

// reportsEffects reports whether the error's text says what to do after the effects.
func (e *Error) reportsEffects() bool {
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
		return " " + were(e.Applied, "done") + ", and perhaps more: " + checkFirst
	}
	advice := outcome{e.Applied, e.NotUndone, e.Unknown, e.Undone}.advice()
	if len(e.Applied)+len(e.Unknown) == 0 {
		advice += ifNothing
	}
	return advice
}

// advice says what was done and was not undone, and what was.
func (o outcome) advice() (text string) {
	if len(o.undone) > 0 {
		text = " " + were(o.undone, "undone") + "."
	}
	var left []string
	if applied := slices.DeleteFunc(slices.Clone(o.applied), func(key string) bool { return slices.Contains(o.kept, key) }); len(applied) > 0 {
		left = append(left, were(applied, "done"))
	}
	if len(o.kept) > 0 {
		left = append(left, were(o.kept, "done")+" and could not be undone")
	}
	if len(o.unknown) > 0 {
		whether := "whether "
		if len(left) == 0 {
			whether = "Whether "
		}
		left = append(left, whether+were(o.unknown, "done")+" is unknown")
	}
	if len(left) > 0 {
		text += " " + strings.Join(left, "; ") + ": " + checkFirst
	}
	return text
}

func were(keys []string, done string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = fmt.Sprintf("%q", key)
	}
	if len(keys) == 1 {
		return quoted[0] + " was " + done
	}
	return strings.Join(quoted, ", ") + " were " + done
}

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
func (l *ledger) outcome() outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.st.outcome(slices.Sorted(maps.Keys(l.running.keys())))
}

// outcome names the effects of a history, beside which others are running. An effect that
// succeeded after an attempt of unknown outcome has happened.
func (st *state) outcome(running []string) (o outcome) {
	for i := range st.done {
		e := &st.done[i]
		if !e.kind.isAttempt() && !e.unknown {
			continue
		}
		undo := st.done.undoing(e.key)
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
func (l *ledger) reportEffects(err error) error {
	if isProtocolError(err) {
		return err
	}
	done := l.outcome()
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
