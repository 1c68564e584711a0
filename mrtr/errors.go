package mrtr

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

// The errors that functions of the program return to the engine, or get from it.
var (
	// ErrSkip, returned by a step's function, passes the step over.
	ErrSkip = errors.New("mrtr: step skipped")
	// ErrIndeterminate, returned by an effect's function, says that nobody knows whether the
	// effect happened. A timeout, the error of a context and that of a connection that ended
	// say the same, unless [NotDone] says otherwise.
	ErrIndeterminate = errors.New("mrtr: nobody knows whether the effect happened")
)

// Error ends a call for a reason that lies outside the program. Its text is for the client.
// Faults of the program are a [*UsageError] or a [*PanicError].
//
// On a tool call all of these are error results, and so are the handler's own errors, with
// their text. On prompts and resources, which have no error results, an Error is a JSON-RPC
// error of code -31000, except for [LimitExceeded], and a fault one of code -32603. Everywhere,
// a *jsonrpc.Error of the handler's keeps its code, a state that does not open is -32602 with
// one text for all reasons, and a modern client that must declare more gets -32021.
//
// Layers outside, such as package boundary, classify an error by its methods named
// ToolError…, without an import in either direction.
type Error struct {
	Reason Reason
	// Key is the question concerned, "" where there is none.
	Key string
	// Detail is described with the reasons that have one, and "" for the others.
	Detail string
	// Replaced, of a call that Diverged: another version of the handler served an earlier round.
	Replaced bool
	// Applied are the keys of the effects and steps that the call is known to have done.
	// Unknown are those that nobody knows the outcome of: their function panicked, ran out of
	// time, gave a value that cannot be remembered, or was still running.
	Applied, Unknown []string
	// Undone are the keys of the effects that were undone, and NotUndone of those in Applied
	// that could not be. An effect that may have been undone is Unknown.
	Undone, NotUndone []string
}

// Reason says why a call ended. It is also the error's type for agents (ToolErrorType).
type Reason string

const (
	// Declined: the user declined the question. A handler may return it too, to end a call
	// that is not wanted, with a Detail that the client reads. See [Stop] for a result.
	Declined Reason = "declined"
	// Cancelled: the user dismissed the question without an answer, or the task was cancelled.
	Cancelled Reason = "cancelled"
	// Unanswered: the question was asked four times without an answer that fits, was accepted
	// twice in a row with no required field filled in, or was not answered within
	// [Question.Within]. Detail is "" for the first.
	Unanswered Reason = "unanswered"
	// CannotBeAsked: this client cannot be asked the question, and no default stands in.
	// Detail names the capability or revision that is missing.
	CannotBeAsked Reason = "client_cannot_be_asked"
	// FrameGone: the held handler is not in this process. It was evicted, the server
	// restarted, or another instance holds it.
	FrameGone Reason = "frame_gone"
	// Diverged: the handler went another way than in an earlier round, so the answers and
	// effects in the state may mean something else. Detail names what differs.
	Diverged Reason = "diverged"
	// Busy: as many calls are held as may be. Detail names the limit.
	Busy Reason = "busy"
	// LimitExceeded: the call asked too often or too much at once, or its state is too large.
	// Detail names the limit. The tool has to change, or its limits.
	LimitExceeded Reason = "limit_exceeded"
	// ShuttingDown: the runtime is closed.
	ShuttingDown Reason = "shutting_down"
	// OutcomeUnknown: nobody knows how an effect of the call ended, or an earlier run of this
	// round. [EffectOptions] can find out. Detail says what happened.
	OutcomeUnknown Reason = "outcome_unknown"
	// ResultNotKept: an earlier request completed the round, and its result could not be kept.
	ResultNotKept Reason = "result_not_kept"
	// Abandoned: nobody went on with the call in its time.
	Abandoned Reason = "abandoned"
	// NotUndone: [Stop] ended the call, but an effect stands that was to be undone.
	NotUndone Reason = "not_undone"
)

// maxTries is how often one question is asked again for a usable answer.
const maxTries = 3

// ToolErrorType is the reason.
func (e *Error) ToolErrorType() string { return string(e.Reason) }

// ToolErrorExpected is true where the client or its user can do something about it, and false
// for LimitExceeded, where an operator must.
func (e *Error) ToolErrorExpected() bool { return e.Reason != LimitExceeded }

// ToolErrorQuiet is true for Declined and Cancelled, which need nobody's attention.
func (e *Error) ToolErrorQuiet() bool { return e.Reason == Declined || e.Reason == Cancelled }

// UsageError is a mistake in the code that uses this package. It is found when the program
// starts or a question is made, where that is possible, and otherwise when the code runs.
type UsageError = usage.Error

func misuse(format string, args ...any) error { return usage.New("mrtr", format, args...) }

// diverge is the error of a handler that goes another way than in an earlier round.
func diverge(format string, args ...any) error {
	return &Error{Reason: Diverged, Detail: fmt.Sprintf(format, args...)}
}

// PanicError is a panic of the author's code. Its text is for the client and says nothing of
// the cause. Value and Stack are for the log; Stack names functions and lines, and shows no
// values.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "The tool failed unexpectedly." }

// Unwrap gives the value, if it is an error.
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

func limitExceeded(limit int, what string) error {
	return &Error{Reason: LimitExceeded, Detail: fmt.Sprintf("%d %s", limit, what)}
}

// ReasonOf is the reason of the [Error] in a chain, "" without one.
func ReasonOf(err error) Reason { return reasonOf(err) }

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

func errorType(err error) string {
	var e interface{ ToolErrorType() string }
	if errors.As(err, &e) && e.ToolErrorType() != "" {
		return e.ToolErrorType()
	}
	return "execution"
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

// asProtocolError gives an error the code that go-sdk sends for prompts and resources. A code
// that the handler chose stays.
func asProtocolError(ctx context.Context, err error) error {
	var expected interface{ ToolErrorExpected() bool }
	switch {
	case choseCode(err):
		return err
	case errors.As(err, &expected) && expected.ToolErrorExpected():
		return callerror.Stopped(err, errorType(err))
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return callerror.Stopped(err, "interrupted")
	}
	return callerror.Fault(err, errorType(err))
}

// choseCode reports whether the handler wrapped a JSON-RPC error of its own. One inside an
// [sse.Error] is the answer of a client that was asked something, and its code means nothing to
// this call.
func choseCode(err error) bool {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return false
	}
	var failed *sse.Error
	return !errors.As(err, &failed) || !errors.Is(failed, wire)
}

// A refusal ends a request before its call begins, for a reason that is no business of its
// client. The cause goes to the listener. It is not unwrapped, so that no layer outside takes a
// text, a hint or a JSON-RPC code from it.
type refusal struct {
	text, kind string
	expected   bool
	cause      error
}

func (e *refusal) Error() string           { return e.text }
func (e *refusal) ToolErrorType() string   { return e.kind }
func (e *refusal) ToolErrorExpected() bool { return e.expected }
func (e *refusal) ToolErrorCause() string  { return e.cause.Error() }

// asWire is an error as go-sdk knows it.
func asWire(err error) error {
	if refused, ok := err.(*keep.Refusal); ok {
		return refused.Wire
	}
	return err
}

// Stop ends the call as not done: effects with an undo are undone, and out goes to the client
// as the result. A handler, or the function of an effect, returns it in place of an error.
// Where an effect could not be undone the call ends with an [Error] that says so, because out
// would not be true.
func Stop[Out any](out Out) error { return &stopped{out} }

type stopped struct{ out any }

func (s *stopped) Error() string { return fmt.Sprintf("mrtr: stopped with %v", s.out) }

// The effects that an error can report.
const (
	effectApplied = "applied"
	effectUnknown = "unknown"
	effectUndone  = "undone"
)
