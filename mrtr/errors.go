package mrtr

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/statecodec"
)

var (
	// ErrSkip, of a step's function, passes the step over.
	ErrSkip = errors.New("mrtr: step skipped")
	// ErrIndeterminate, of an effect's function, leaves it in doubt, as a timeout does.
	ErrIndeterminate = errors.New("mrtr: nobody knows whether the effect happened")
	// ErrFound, of an undo, settles an effect in doubt: it was undone, or had not happened.
	ErrFound = errors.New("mrtr: the effect in doubt was found, and does not stand")
)

// Error ends a call for a reason outside the program. Its text is for the client. Prompts and
// resources send it as JSON-RPC error -31000, or -32603 for [LimitExceeded].
type Error struct {
	Reason Reason
	Key    string // of the question
	Detail string // see the reasons
	// Replaced, of a call that [Diverged]: an earlier round had another version of the handler.
	Replaced bool
	// Keys of effects. Those NotUndone are in Applied too.
	Applied, Unknown, Undone, NotUndone []string
}

// Reason says why a call ended.
type Reason string

const (
	// Declined: the user declined. A handler may return it, with a Detail for the client.
	Declined Reason = "declined"
	// Cancelled: the user dismissed the question, or the task was cancelled.
	Cancelled Reason = "cancelled"
	// Unanswered: no answer came in time, or none that fits in four tries.
	Unanswered Reason = "unanswered"
	// CannotBeAsked: this client lacks Detail, a capability or revision.
	CannotBeAsked Reason = "client_cannot_be_asked"
	// FrameGone: the held handler was evicted, or is in another process.
	FrameGone Reason = "frame_gone"
	// Diverged: the handler went another way than in an earlier round.
	Diverged Reason = "diverged"
	// Busy: as many calls are held as may be.
	Busy Reason = "busy"
	// LimitExceeded: the call asked too often or too much, or its state is too large.
	LimitExceeded Reason = "limit_exceeded"
	// ShuttingDown: the runtime is closed.
	ShuttingDown Reason = "shutting_down"
	// OutcomeUnknown: it is unknown how an effect or a round ended. See [EffectOptions].
	OutcomeUnknown Reason = "outcome_unknown"
	// ResultNotKept: the round was completed before, and its result is not kept.
	ResultNotKept Reason = "result_not_kept"
	// Abandoned: the call was not resumed in its time.
	Abandoned Reason = "abandoned"
	// NotUndone: an effect stands that [Stop] was to undo.
	NotUndone Reason = "not_undone"
)

// ToolErrorType is the reason.
func (e *Error) ToolErrorType() string { return string(e.Reason) }

// ToolErrorExpected is false for [LimitExceeded], where an operator must act.
func (e *Error) ToolErrorExpected() bool { return e.Reason != LimitExceeded }

// ToolErrorQuiet is true for [Declined] and [Cancelled].
func (e *Error) ToolErrorQuiet() bool { return e.Reason == Declined || e.Reason == Cancelled }

// UsageError is a mistake in the code that uses this package.
type UsageError = usage.Error

func misuse(format string, args ...any) error { return usage.New("mrtr", format, args...) }

// endOfQuestion is the error of a call that a question ends.
func endOfQuestion(err error) error {
	if end, ok := err.(*question.End); ok {
		return &Error{Reason: Reason(end.Outcome), Key: end.Key, Detail: end.Detail}
	}
	return err
}

// PanicError is a panic of the author's code. Value and Stack are for the log.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "The tool failed unexpectedly." }

// Unwrap gives a value that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ToolErrorType is "panic".
func (e *PanicError) ToolErrorType() string { return "panic" }

// ToolErrorExpected is false.
func (e *PanicError) ToolErrorExpected() bool { return false }

// ToolErrorQuiet is false.
func (e *PanicError) ToolErrorQuiet() bool { return false }

// ToolErrorCause is for the log.
func (e *PanicError) ToolErrorCause() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

func limitExceeded(limit int, what string) error {
	return &Error{Reason: LimitExceeded, Detail: fmt.Sprintf("%d %s", limit, what)}
}

// reasonOf is the reason of the [Error] in a chain, "" without one.
func reasonOf(err error) Reason {
	if err == nil { // the variable would cost every round an allocation
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// isProtocolError reports whether go-sdk sends the error of a tool as a JSON-RPC error, rather
// than as an error result.
func isProtocolError(err error) bool {
	_, ok := asWire(err).(*jsonrpc.Error)
	return ok
}

// badState is the one answer to every state that does not open. The listener hears why.
func badState() error { return invalidParams(statecodec.Refusal) }

// badArguments refuses arguments that a state cannot be bound to, such as an object that names
// a member twice.
func badArguments() error { return invalidParams("Invalid arguments: they have no canonical form") }

func invalidParams(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// asWire is an error as go-sdk knows it.
func asWire(err error) error {
	if refused, ok := err.(*keep.Refusal); ok {
		return refused.Wire
	}
	return err
}

// Stop, returned as an error, ends the call as not done: its undos run, and out is the result, or
// an [Error] where an undo failed.
func Stop[Out any](out Out) error { return &stopped{out} }

type stopped struct{ out any }

func (s *stopped) Error() string { return fmt.Sprintf("mrtr: stopped with %v", s.out) }

// All sentences that advise a client are in this file, but for report.CheckFirst. One that makes a new call is given only
// if the call has done nothing and nothing of it is in doubt. The same request may be sent
// again whatever was done: with a Keeper it goes on, and does nothing twice.
const (
	callAgain = " Call the tool again."
	tryLater  = " Try again later."
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
		return fmt.Sprintf("Stopped: %q was asked %d times without a usable answer.", e.Key, question.MaxTries+1) + e.advice("")
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
		return "This round was completed before, and its result was not kept: " + report.CheckFirst
	case Abandoned:
		return "Stopped: nobody went on with this call in its time." + e.advice(callAgain)
	case NotUndone:
		return "Stopped." + e.advice("")
	}
	return "Stopped: " + string(e.Reason) + "." + e.advice("")
}

// advice names the effects that stand. ifNothing is added only if nothing was done.
func (e *Error) advice(ifNothing string) string {
	if (e.Reason == FrameGone || e.Reason == OutcomeUnknown) && len(e.Unknown) == 0 {
		switch undone := (report.Fates{Undone: e.Undone}).Sentence(); {
		case len(e.Applied) > 0:
			return undone + " " + report.Were(e.Applied, "done") + ", and perhaps more: " + report.CheckFirst
		case undone != "":
			return undone + " What else it has done is unknown: " + report.CheckFirst
		}
		return " What it has done is unknown: " + report.CheckFirst
	}
	stands := report.Fates{Applied: e.Applied, Kept: e.NotUndone, Unknown: e.Unknown, Undone: e.Undone}.Sentence()
	if len(e.Applied)+len(e.Unknown) == 0 {
		stands += ifNothing
	}
	return stands
}

// report adds the effects of a history to the error that ends its call, so that no client makes
// the call again blindly.
func (h history) report(err error) error {
	if err == nil || isProtocolError(err) {
		return err
	}
	fates, sentence := h.fates(), ""
	effect := fates.Effect()
	if e, ok := err.(*Error); ok {
		own := *e
		own.Applied, own.Unknown, own.Undone, own.NotUndone = fates.Applied, fates.Unknown, fates.Undone, fates.Kept
		if err = &own; own.Reason == FrameGone || own.Reason == OutcomeUnknown {
			effect = report.Unknown
		}
	} else {
		sentence = fates.Sentence()
	}
	if effect == "" {
		return err
	}
	return report.With(err, effect, sentence)
}

// lostValue marks the error of an effect that ran and whose value is lost.
func lostValue(err error) error { return report.With(err, report.Unknown, "") }
