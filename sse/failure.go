package sse

import (
	"fmt"

	"github.com/mrtr-go/sdk/sse/era"
)

// Reason says why questions could not be answered.
type Reason string

const (
	// Unreachable: the client of this request cannot be asked at all; see
	// [era.Unaskable]. Nobody was asked.
	Unreachable Reason = "unreachable"
	// Undeclared: the client did not declare the capability that a question of
	// the round needs. Nobody was asked in that round.
	Undeclared Reason = "undeclared"
	// TimedOut: the answer did not come within [BridgeOptions.AnswerTimeout].
	TimedOut Reason = "timed_out"
	// Failed: the question could not be put, or the client answered it with an
	// error, or went away.
	Failed Reason = "failed"
	// Endless: the handler asked for more rounds than the bridge allows.
	Endless Reason = "endless"
	// Malformed: the handler returned questions that no client could be sent.
	Malformed Reason = "malformed"
	// Interrupted: the call itself was cancelled or ran out of time.
	Interrupted Reason = "interrupted"
)

// Error is how a bridged call ends when its questions cannot be answered. A
// person who declines or cancels is not an error: that is an answer, and the
// handler gets it.
//
// A tool's client gets an error result with this text. A prompt or a resource
// has no error result, so its client gets a JSON-RPC error with this text: code
// -32603 where the handler is at fault (Endless, Malformed), and -31000 in every
// other case. Server middleware finds the *Error either way, by
// [mcp.CallToolResult.GetError] or [errors.As].
type Error struct {
	Reason Reason
	// Key is the question that was concerned, empty where it is none in
	// particular.
	Key string
	// Err is the cause, and may be nil. It holds the client's own error.
	Err error

	text string
}

func (e *Error) Error() string {
	text := e.text
	if e.Key != "" {
		text = fmt.Sprintf("question %q: %s", e.Key, text)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether a person took too long.
func (e *Error) Timeout() bool { return e.Reason == TimedOut }

// ToolErrorType is the reason, for code that knows errors by their methods and
// does not import this package.
func (e *Error) ToolErrorType() string { return "legacy_" + string(e.Reason) }

// ToolErrorExpected reports whether the cause lies with the client or its user.
// Where it does not, the handler is at fault and an operator should look.
func (e *Error) ToolErrorExpected() bool { return e.Reason != Endless && e.Reason != Malformed }

// ToolErrorHints are advice for the caller, if there is any.
func (e *Error) ToolErrorHints() []string {
	switch e.Reason {
	case Unreachable, Undeclared:
		return []string{"Use a client that can be asked, or one that speaks revision " + era.FirstModern + "."}
	case TimedOut, Failed:
		return []string{"Have a user ready to answer."}
	}
	return nil
}
