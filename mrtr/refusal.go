package mrtr

import (
	"context"
	"errors"
)

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
func (c *Call) refuse(ctx context.Context, reason string, cause, err error) error {
	return c.refuseAs(ctx, RequestRefused, reason, cause, err)
}

func (c *Call) refuseAs(ctx context.Context, kind EventKind, reason string, cause, err error) error {
	c.observe(ctx, Event{Kind: kind, Reason: reason, Err: cause})
	return err
}

// unidentified refuses a request whose principal is not known.
func (c *Call) unidentified(ctx context.Context, cause error) error {
	var panicked *PanicError
	if errors.As(cause, &panicked) {
		return c.refuseAs(ctx, PrincipalRefused, "Options.Principal panicked", cause, panicked)
	}
	reason := "Options.Principal returned an error"
	if errors.Is(cause, errNoUser) {
		reason = "its token names no user: have the verifier set UserID, or set Options.Principal"
	}
	return c.refuseAs(ctx, PrincipalRefused, reason, cause, &refusal{
		text: "This request was refused: its sender is not identified.", kind: "unidentified", expected: true, cause: cause,
	})
}
