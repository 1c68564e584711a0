package statecodec

import (
	"errors"
	"fmt"
)

// Refusal is the text of every [*TokenError]. A client that could tell an
// expired token from a forged one would have an oracle.
const Refusal = "Invalid or expired requestState"

// ErrTooLarge is wrapped by the [*UsageError] of a Seal whose token would
// exceed [Options.MaxToken].
var ErrTooLarge = errors.New("the token would exceed MaxToken")

// ErrArguments is wrapped by the [*UsageError] of a Seal whose
// [Binding.Arguments] have no canonical form. They usually come from a client,
// so a server will want to answer that the arguments are invalid.
var ErrArguments = errors.New("the arguments have no canonical form")

// UsageError is a mistake in the code that uses this package, or, if it wraps
// [ErrTooLarge] or [ErrArguments], a value that cannot be sealed.
type UsageError struct{ err error }

func misuse(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

func (e *UsageError) Error() string { return "statecodec: " + e.err.Error() }

// Unwrap returns the cause, such as [ErrTooLarge] or [ErrArguments], or nil.
func (e *UsageError) Unwrap() error { return errors.Unwrap(e.err) }

// InternalError is a failure that neither the caller nor the token has caused, such
// as a random source that fails.
type InternalError struct {
	message string
	cause   error
}

func (e *InternalError) Error() string {
	return "statecodec: " + e.message + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *InternalError) Unwrap() error { return e.cause }

// Reason is why a token was refused. It is for the log and must not reach a client.
type Reason string

// The reasons, in the order in which Open checks them. Those before ReasonForged go
// by text that is not authenticated yet; those after it are certain.
const (
	// ReasonTooLarge: longer than [Options.MaxToken]. Nothing was decoded.
	ReasonTooLarge Reason = "too_large"
	// ReasonMalformed: no header can be read from it.
	ReasonMalformed Reason = "malformed"
	// ReasonUnknownVersion: another version of the format, or a flag that this
	// version does not have.
	ReasonUnknownVersion Reason = "unknown_version"
	// ReasonWrongLength: not as long as its own header says, so cut or extended.
	ReasonWrongLength Reason = "wrong_length"
	// ReasonUnknownKey: no key in the ring has its key id.
	ReasonUnknownKey Reason = "unknown_key"
	// ReasonArguments: the arguments presented with it have no canonical form,
	// so no token can have been sealed for them.
	ReasonArguments Reason = "unusable_arguments"
	// ReasonForged: it is not authentic for this binding. It was forged or
	// altered, or it is a good token of another call, principal or purpose;
	// one MAC covers all of these and so cannot tell them apart.
	ReasonForged Reason = "forged_or_transplanted"
	// ReasonExpired: authentic, and its lifetime is over.
	ReasonExpired Reason = "expired"
	// ReasonFuture: authentic, and sealed later than now by more than the skew.
	ReasonFuture Reason = "from_the_future"
	// ReasonNotCanonical: authentic, but Seal would not have made it. Another
	// implementation that has the key is wrong.
	ReasonNotCanonical Reason = "not_canonical"
)

// TokenError is a refused token.
type TokenError struct{ reason Reason }

// Error returns [Refusal] for every reason.
func (*TokenError) Error() string { return Refusal }

// Reason returns the reason, for the log alone.
func (e *TokenError) Reason() Reason { return e.reason }

// Refusals are allocated once: an attacker can cause any number of them.
var (
	errTooLarge       = &TokenError{ReasonTooLarge}
	errMalformed      = &TokenError{ReasonMalformed}
	errUnknownVersion = &TokenError{ReasonUnknownVersion}
	errWrongLength    = &TokenError{ReasonWrongLength}
	errUnknownKey     = &TokenError{ReasonUnknownKey}
	errArguments      = &TokenError{ReasonArguments}
	errForged         = &TokenError{ReasonForged}
	errExpired        = &TokenError{ReasonExpired}
	errFuture         = &TokenError{ReasonFuture}
	errNotCanonical   = &TokenError{ReasonNotCanonical}
)
