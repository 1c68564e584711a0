package mrtr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

// The errors that functions of the program return to the engine, or get from it.
var (
	// ErrSkip, returned by a step's function, passes the step over.
	ErrSkip = errors.New("mrtr: step skipped")
	// ErrIndeterminate, returned by an effect's function, says that nobody knows whether
	// the effect happened. A timeout, the error of a context and that of a connection that
	// ended say the same, unless [NotDone] says otherwise.
	ErrIndeterminate = errors.New("mrtr: nobody knows whether the effect happened")
)

// Error ends a call for a reason that lies outside the program. Its text is for
// the client. Faults of the program are a [*UsageError] or a [*PanicError].
//
// On a tool call all of these are error results, and so are the handler's own errors,
// with their text. On prompts and resources, which have no error results, an Error is a
// JSON-RPC error of code -31000, except for [LimitExceeded], and a fault one of code
// -32603. Everywhere, a *jsonrpc.Error of the handler's keeps its code, a state that does
// not open is -32602 with one text for all reasons, arguments that no state can be bound
// to are -32602, and a modern client that must declare more gets -32021. A legacy client
// that does not answer, or answers with an error, leaves an [sse.Error].
//
// Layers outside, such as package boundary, classify an error by its methods named
// ToolError…, without an import in either direction.
type Error struct {
	Reason Reason
	// Key is the question concerned, "" where there is none.
	Key string
	// Detail is described with the reasons that have one, and "" for the others.
	Detail string
	// Applied are the keys of the effects and steps that the call is known to have
	// done. Unknown are those that nobody knows the outcome of: their
	// function panicked, ran out of time, gave a value that cannot be remembered, or
	// was still running.
	Applied, Unknown []string
	// Undone are the keys of those that [Call.OnStop] has undone, and NotUndone of those in
	// Applied that it could not undo. Where that is in doubt they are Unknown.
	Undone, NotUndone []string
}

// Reason says why a call ended. It is also the error's type for agents
// (ToolErrorType).
type Reason string

const (
	// Declined: the user declined the question. Effects may have run before. A handler
	// returns it too, to end a call that is not wanted: [Call.OnStop] runs, no log has a
	// fault, and the client reads the Detail:
	//
	//	return nil, out, &mrtr.Error{Reason: mrtr.Declined, Detail: "The price was too high."}
	//
	// After a [Confirm] return a result instead: a client that cannot be asked is a no
	// there too, and the error would blame its user.
	Declined Reason = "declined"
	// Cancelled: the user dismissed the question without an answer.
	Cancelled Reason = "cancelled"
	// Unanswered has three causes. The question was asked four times without an answer that
	// fits: Detail is "". It was accepted twice in a row with no required field filled in, as
	// a client does that shows no forms: Detail says so. Or it was not answered within
	// [Question.Within]: Detail says that.
	Unanswered Reason = "unanswered"
	// CannotBeAsked: this client cannot be asked the question, and the policy
	// gives it no default. Detail names the capability or revision that is missing.
	CannotBeAsked Reason = "client_cannot_be_asked"
	// FrameGone: the held handler is not in this process. It was evicted, the server
	// restarted, or another instance holds it. Nobody knows what the call has done since
	// its state was sealed. On several instances a [Resumable] goes on from its journal, a
	// [Journal] holds nothing, and mcphttp.Router sends each round to the instance that asked.
	FrameGone Reason = "frame_gone"
	// Diverged: the handler went another way than in an earlier round, so the answers and
	// effects in the state may mean something else. Detail names the question, effect, step
	// or field that differs. The event has the version that the call began with. The client
	// may call again if nothing was done.
	Diverged Reason = "diverged"
	// Busy: as many calls are held as may be. Detail names the limit. The client may
	// call later if nothing was done.
	Busy Reason = "busy"
	// LimitExceeded: the call asked too often or too much at once, or its state is
	// too large. Detail names the limit. The tool has to change, or its limits.
	LimitExceeded Reason = "limit_exceeded"
	// ShuttingDown: the runtime is closed. The client may call again if nothing was
	// done.
	ShuttingDown Reason = "shutting_down"
	// OutcomeUnknown: an effect of the call is in doubt and was asked for again. Or, with a
	// store, an earlier run of this round was cut off. [EffectOptions] can find out. Detail
	// says what happened, and is "" if an earlier run ended without a word.
	OutcomeUnknown Reason = "outcome_unknown"
	// ResultNotKept: the round was completed by an earlier request, and its result was
	// too large for the store, or cannot be written as JSON. Only with a store.
	ResultNotKept Reason = "result_not_kept"
)

func (e *Error) Error() string {
	switch e.Reason {
	case Declined, Cancelled:
		if e.Detail != "" {
			return "Stopped: " + strings.TrimSuffix(e.Detail, ".") + "."
		}
		return fmt.Sprintf("Stopped: %q was %s.", e.Key, e.Reason)
	case Unanswered:
		if e.Detail != "" {
			return fmt.Sprintf("Stopped: %q was %s.", e.Key, e.Detail)
		}
		return fmt.Sprintf("Stopped: %q was asked %d times without a usable answer.", e.Key, maxTries+1)
	case CannotBeAsked:
		return fmt.Sprintf("This client cannot be asked for %q: it lacks %s.", e.Key, e.Detail)
	case FrameGone:
		return "This call's frame is gone: it was held by a server that no longer has it." + e.advice("")
	case Diverged:
		return "The tool changed during this call: " + e.Detail + "." + e.advice(callAgain)
	case Busy:
		return "Too many calls are waiting for answers (limit " + e.Detail + ")." + e.advice(tryLater)
	case LimitExceeded:
		return "Stopped: more than " + e.Detail + "."
	case ShuttingDown:
		return "Stopped: this server is shutting down." + e.advice(callAgain)
	case OutcomeUnknown:
		return "Stopped: " + cmp.Or(e.Detail, "this round was begun before, and was cut off") + "." + e.advice("")
	case ResultNotKept:
		return "This round was completed before, and its result was not kept: " + checkFirst
	}
	return "Stopped: " + string(e.Reason) + "."
}

// ToolErrorType is the reason.
func (e *Error) ToolErrorType() string { return string(e.Reason) }

// ToolErrorExpected is true where the client or its user can do something about
// it, and false for LimitExceeded, where an operator must.
func (e *Error) ToolErrorExpected() bool { return e.Reason != LimitExceeded }

// ToolErrorQuiet is true for Declined and Cancelled, which need nobody's attention.
func (e *Error) ToolErrorQuiet() bool { return e.Reason == Declined || e.Reason == Cancelled }

// outcomeUnknown ends a round of which nobody knows all that it has done. Without a
// detail its earlier run was cut off.
func outcomeUnknown(detail string, applied, unknown []string) error {
	e := &Error{Reason: OutcomeUnknown, Detail: detail, Applied: effectNames(applied), Unknown: effectNames(unknown)}
	return &effectsReported{error: e, effect: effectUnknown}
}

// neverFilledIn is the detail of a question that its client accepts without an answer.
const neverFilledIn = "accepted twice with no required field filled in, so this client does not seem to show forms"

// notInTime is the detail of a question whose deadline has passed.
const notInTime = "not answered in time"

func limitExceeded(limit int, what string) error {
	return &Error{Reason: LimitExceeded, Detail: fmt.Sprintf("%d %s", limit, what)}
}

// UsageError is a mistake in the code that uses this package. It is found when
// the program starts or a question is made, where that is possible, and otherwise
// when the code runs.
type UsageError = usage.Error

func misuse(format string, args ...any) error { return usage.New("mrtr", format, args...) }

// UnaskedError is the cause of the [UsageError] of an [Ask] in a guarded handler, which
// has to return [Need] for these questions itself. It is for those who write a style of
// their own.
type UnaskedError struct{ Questions []AnyQuestion }

func (e *UnaskedError) Error() string {
	keys := make([]string, len(e.Questions))
	for i, q := range e.Questions {
		keys[i] = q.Key()
	}
	return strings.Join(keys, ", ") + " not answered yet: a guarded handler reads with Answer and returns Need"
}

func unasked(questions []AnyQuestion) error { return misuse("%w", &UnaskedError{questions}) }

// PanicError is a panic of the author's code. Its text is for the client and says
// nothing of the cause. Value and Stack are for the log; Stack names functions and
// lines, and shows no values.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "The tool failed unexpectedly." }

// Unwrap gives the value, where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ToolErrorType names the error for agents.
func (e *PanicError) ToolErrorType() string { return "panic" }

// ToolErrorExpected is false: an operator must act.
func (e *PanicError) ToolErrorExpected() bool { return false }

// ToolErrorQuiet is false, whatever error the handler panicked with.
func (e *PanicError) ToolErrorQuiet() bool { return false }

// ToolErrorCause is for the log.
func (e *PanicError) ToolErrorCause() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

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

func isExpected(err error) bool {
	var e interface{ ToolErrorExpected() bool }
	return errors.As(err, &e) && e.ToolErrorExpected()
}

func isQuiet(err error) bool {
	var e interface{ ToolErrorQuiet() bool }
	return errors.As(err, &e) && e.ToolErrorQuiet()
}

func errorType(err error) string {
	var e interface{ ToolErrorType() string }
	if errors.As(err, &e) && e.ToolErrorType() != "" {
		return e.ToolErrorType()
	}
	return "execution"
}

// badState is the one answer to every state that does not open. The reason goes
// to the observer.
func badState() error {
	return invalidParams(statecodec.Refusal)
}

// badArguments refuses arguments that a state cannot be bound to, such as an
// object that names a member twice.
func badArguments() error {
	return invalidParams("Invalid arguments: they have no canonical form")
}

func invalidParams(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// lacksCapability reports whether a call ended because its modern client lacks a
// capability.
func lacksCapability(err error) bool {
	wire, ok := err.(*jsonrpc.Error)
	return ok && wire.Code == mcp.CodeMissingRequiredClientCapabilities
}

// isProtocolError reports whether go-sdk sends the error of a tool as a JSON-RPC
// error, rather than as an error result.
func isProtocolError(err error) bool {
	_, ok := err.(*jsonrpc.Error)
	return ok
}

// asProtocolError gives an error the code that go-sdk sends for prompts and
// resources. A code that the handler chose stays.
func asProtocolError(ctx context.Context, err error) error {
	if choseCode(err) {
		return err
	}
	switch {
	case isExpected(err):
		return callerror.Stopped(err, errorType(err))
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return callerror.Stopped(err, "interrupted")
	}
	return callerror.Fault(err, errorType(err))
}

// choseCode reports whether the handler wrapped a JSON-RPC error of its own. One
// inside an [sse.Error] is the answer of a client that was asked something, and
// its code means nothing to this call.
func choseCode(err error) bool {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return false
	}
	var failed *sse.Error
	return !errors.As(err, &failed) || !errors.Is(failed, wire)
}

// A refusal ends a request before its call begins, for a reason that is no business
// of its client. The cause goes to the observer. It is not unwrapped, so that no
// layer outside takes a text, a hint or a JSON-RPC code from it.
type refusal struct {
	text, kind string
	expected   bool
	cause      error
}

func (e *refusal) Error() string           { return e.text }
func (e *refusal) ToolErrorType() string   { return e.kind }
func (e *refusal) ToolErrorExpected() bool { return e.expected }
func (e *refusal) ToolErrorCause() string  { return e.cause.Error() }

// refuse tells the observer why a request is refused. The error is for its client.
func (l *ledger) refuse(ctx context.Context, kind EventKind, reason string, cause, err error) error {
	l.observe(ctx, Event{Kind: kind, Reason: reason, Err: cause})
	return err
}

// unidentified refuses a request whose principal is not known.
func (l *ledger) unidentified(ctx context.Context, cause error) error {
	var panicked *PanicError
	if errors.As(cause, &panicked) {
		return l.refuse(ctx, PrincipalRefused, "Options.Principal panicked", cause, panicked)
	}
	reason := "Options.Principal returned an error"
	if errors.Is(cause, errNoUser) {
		reason = "its token names no user: have the verifier set UserID, or set Options.Principal"
	}
	return l.refuse(ctx, PrincipalRefused, reason, cause, &refusal{
		text: "This request was refused: its sender is not identified.", kind: "unidentified", expected: true, cause: cause,
	})
}
