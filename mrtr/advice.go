package mrtr

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// All sentences that advise a client are in this file. One that makes a new call is given only
// if the call has done nothing and nothing of it is in doubt. The same request may be sent
// again whatever was done: with a Keeper it goes on, and does nothing twice.
const (
	callAgain  = " Call the tool again."
	tryLater   = " Try again later."
	checkFirst = "do not call the tool again without checking."

	fault     = "This tool has a fault: its server's log says more."
	sendAgain = ". Send the same request again: it goes on with the effects that have happened."
)

func (e *Error) Error() string {
	switch e.Reason {
	case Declined, Cancelled:
		if e.Detail != "" {
			return "Stopped: " + strings.TrimSuffix(e.Detail, ".") + "." + e.advice("")
		}
		return fmt.Sprintf("Stopped: %q was %s.", e.Key, e.Reason) + e.advice("")
	case Unanswered:
		if e.Detail != "" {
			return fmt.Sprintf("Stopped: %q was %s.", e.Key, e.Detail) + e.advice("")
		}
		return fmt.Sprintf("Stopped: %q was asked %d times without a usable answer.", e.Key, maxTries+1) + e.advice("")
	case CannotBeAsked:
		return fmt.Sprintf("This client cannot be asked for %q: it lacks %s.", e.Key, e.Detail) + e.advice("")
	case FrameGone:
		return "This call's frame is gone: it was held by a server that no longer has it." + e.advice("")
	case Diverged:
		if e.Replaced {
			return "The tool changed during this call: " + e.Detail + "." + e.advice(callAgain)
		}
		return "The tool took another way in this call than before: " + e.Detail + "." + e.advice(callAgain)
	case Busy:
		return "Too many calls are waiting for answers (limit " + e.Detail + ")." + e.advice(tryLater)
	case LimitExceeded:
		return "Stopped: more than " + e.Detail + "." + e.advice("")
	case ShuttingDown:
		return "Stopped: this server is shutting down." + e.advice(callAgain)
	case OutcomeUnknown:
		return "Stopped: " + cmp.Or(e.Detail, "this round was begun before, and was cut off") + "." + e.advice("")
	case ResultNotKept:
		return "This round was completed before, and its result was not kept: " + checkFirst
	case Abandoned:
		return "Stopped: nobody went on with this call in its time." + e.advice(callAgain)
	case NotUndone:
		return "Stopped." + e.advice("")
	}
	return "Stopped: " + string(e.Reason) + "." + e.advice("")
}

// advice says what stands, with ifNothing behind it only if nothing was done.
func (e *Error) advice(ifNothing string) string {
	if (e.Reason == FrameGone || e.Reason == OutcomeUnknown) && len(e.Unknown) == 0 {
		switch undone := (outcome{undone: e.Undone}).sentence(); {
		case len(e.Applied) > 0:
			return undone + " " + were(e.Applied, "done") + ", and perhaps more: " + checkFirst
		case undone != "":
			return undone + " What else it has done is unknown: " + checkFirst
		}
		return " What it has done is unknown: " + checkFirst
	}
	stands := outcome{e.Applied, e.NotUndone, e.Unknown, e.Undone}.sentence()
	if len(e.Applied)+len(e.Unknown) == 0 {
		stands += ifNothing
	}
	return stands
}

// sentence says which effects stand, which were undone, and which are in doubt. It is the one
// sentence about effects, in every reason, style and way; "" if there were none.
func (o outcome) sentence() (text string) {
	if len(o.undone) > 0 {
		text = " " + were(o.undone, "undone") + "."
	}
	var left []string
	applied := slices.DeleteFunc(slices.Clone(o.applied), func(key string) bool { return slices.Contains(o.kept, key) })
	if len(applied) > 0 {
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

// report adds the effects of a history to the error that ends its call, so that nobody makes
// the call again blindly.
func (h history) report(err error) error {
	if err == nil || isProtocolError(err) {
		return err
	}
	done := h.outcome()
	r := &reported{error: err}
	if e, ok := err.(*Error); ok {
		own := *e
		own.Applied, own.Unknown, own.Undone, own.NotUndone = done.applied, done.unknown, done.undone, done.kept
		r.error = &own
		if own.Reason == FrameGone || own.Reason == OutcomeUnknown {
			r.effect = effectUnknown
		}
	} else {
		r.stands = done.sentence()
	}
	switch {
	case len(done.unknown) > 0:
		r.effect = effectUnknown
	case r.effect != "":
	case len(done.applied) > 0:
		r.effect = effectApplied
	case len(done.undone) > 0:
		r.effect = effectUndone
	default:
		return r.error
	}
	return r
}

// reported is the error that ends a call, with its effects.
type reported struct {
	error
	effect string
	stands string // the sentence, where the error does not say it itself
}

func (e *reported) Error() string {
	text := e.error.Error()
	if e.stands == "" {
		return text
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text + e.stands
}

func (e *reported) Unwrap() error { return e.error }

// ToolErrorEffect is "applied" where effects are known to have happened, "unknown" where one
// may have, and "undone" where all of them were undone.
func (e *reported) ToolErrorEffect() string { return e.effect }

// ToolErrorHints are those of the error.
func (e *reported) ToolErrorHints() []string {
	var inner interface{ ToolErrorHints() []string }
	if errors.As(e.error, &inner) {
		return inner.ToolErrorHints()
	}
	return nil
}

// A faulty error ends the call by a mistake of the program. Its text is for the log, and the client
// reads one sentence in its place.
type faulty struct {
	error
	stands string
}

func (f *faulty) Error() string { return fault + f.stands }

func (f *faulty) Unwrap() error { return f.error }

// Layers outside show a client the text of the outermost typed error, and log its cause.
func (f *faulty) ToolErrorType() string   { return errorType(f.error) }
func (f *faulty) ToolErrorExpected() bool { return false }
func (f *faulty) ToolErrorCause() string  { return f.error.Error() }

// forClient is the error of a call as its client gets it.
func (r *round) forClient(err error) error {
	var misused *UsageError
	if !errors.As(err, &misused) {
		return err
	}
	if r.target.rt.listener == nil { // nobody else would know
		slog.ErrorContext(r.life, err.Error(), "method", r.ex.method, "name", r.ex.nameInLog())
	}
	f := &faulty{error: err}
	var done *reported
	if errors.As(err, &done) {
		f.stands = done.stands
	}
	return f
}

// lostValue marks the error of an effect that ran and whose value is lost.
func lostValue(err error) error { return &reported{error: err, effect: effectUnknown} }
