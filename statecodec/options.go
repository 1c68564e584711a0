package statecodec

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

const (
	// DefaultTTL gives a person time to answer.
	DefaultTTL = time.Hour
	// DefaultSkew is far more than the clocks of machines with NTP differ by.
	DefaultSkew = 30 * time.Second
	// MaxSkew bounds the skew, which prolongs the life of every token.
	MaxSkew = 5 * time.Minute
	// DefaultMaxToken is large for a state and small for a request body.
	DefaultMaxToken = 64 << 10
	// MaxMaxToken bounds MaxToken, since the header counts the body in three
	// bytes.
	MaxMaxToken = 16 << 20
)

// Options configure a codec. Only the keys are required. A zero limit is the default,
// and a negative one a [*UsageError].
//
// Readable, PerPrincipal, PerSession and Instance apply to sealing. A token's authenticated
// header says how it was sealed, and an opener follows it whatever its own setting,
// so that each can be changed while tokens are on their way.
type Options struct {
	// Keys is the ring: the first key seals, all of them open. To rotate keys
	// without refusing a token, append the new key on every instance, then move
	// it to the front, and remove the old one when its last token has expired.
	Keys []Key
	// Keyring is a ring that can be replaced while it is used, in place of Keys.
	Keyring *Keyring
	// Ephemeral makes a random key for this process in place of Keys. Its tokens
	// do not open in another process or after a restart.
	Ephemeral bool

	// TTL is how long a token lives; 0 means [DefaultTTL]. A token carries its
	// own expiry, so a change of TTL affects the tokens sealed from then on and
	// leaves those on their way alone.
	TTL time.Duration
	// Skew is how far clocks may differ; 0 means [DefaultSkew], more than
	// [MaxSkew] is refused. A token opens until TTL+Skew after it was sealed,
	// and from Skew before.
	Skew time.Duration
	// MaxToken is the longest token, in bytes; 0 means [DefaultMaxToken], more
	// than [MaxMaxToken] is refused. Seal makes no longer one, and Open refuses
	// a longer one before it decodes anything.
	MaxToken int

	// Readable leaves the payload unencrypted, though authenticated. It is for
	// teaching and debugging: most states hold data that is not for the client.
	Readable bool
	// PerPrincipal seals with keys derived for the binding's principal.
	PerPrincipal bool
	// PerSession seals with keys derived for the binding's session.
	PerSession bool
	// Instance is put into every token in clear text, authenticated: the name of this
	// instance, so that whoever routes requests can send a token back to where it was
	// sealed, see [Instance]. It has 1 to 64 letters, digits, hyphens and underscores
	// (ASCII), and makes a token as much longer, and by one. Clients can read it: take
	// "a" or "eu-2", and not the name of a host. Empty is no name. Releases without this
	// option refuse tokens with a name; set it once none of those is running.
	Instance string
}

// resolveKeys makes a ring of the keys that there are.
func (o *Options) resolveKeys() (err error) {
	keys := o.Keys
	switch {
	case o.Ephemeral && (len(keys) > 0 || o.Keyring != nil):
		return misuse("Options.Ephemeral makes its own key: give no Keys and no Keyring beside it")
	case o.Keyring != nil && len(keys) > 0:
		return misuse("Options.Keyring is in place of Keys: give one of them")
	case o.Keyring != nil && o.Keyring.keys.Load() == nil:
		return misuse("Options.Keyring is empty: make it with NewKeyring")
	case o.Keyring != nil:
		return nil
	case o.Ephemeral:
		keys = []Key{GenerateKey()}
	case len(keys) == 0:
		return misuse("Options.Keys is empty: give a key, or set Ephemeral")
	}
	if err := checkKeys(keys); err != nil {
		return misuse("Options.Keys: %w", err)
	}
	o.Keyring, err = NewKeyring(keys...)
	return err
}

// resolve fills in the defaults, and the key of an ephemeral codec.
func (o *Options) resolve() error {
	if err := o.resolveKeys(); err != nil {
		return err
	}
	if o.Instance != "" {
		if err := CheckInstance(o.Instance); err != nil {
			return err
		}
	}
	smallest := (&header{bodyLen: nonceLen, instance: o.Instance}).tokenLen()
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	o.Skew = cmp.Or(o.Skew, DefaultSkew)
	o.MaxToken = cmp.Or(o.MaxToken, DefaultMaxToken)
	if err := checkTTL("Options.TTL", o.TTL); err != nil {
		return err
	}
	switch {
	case o.Skew < 0 || o.Skew > MaxSkew:
		return misuse("Options.Skew must be between 0 and %v, not %v", MaxSkew, o.Skew)
	case o.MaxToken < smallest || o.MaxToken > MaxMaxToken:
		return misuse("Options.MaxToken must be between %d and %d, not %d", smallest, MaxMaxToken, o.MaxToken)
	}
	return nil
}

func checkTTL(name string, ttl time.Duration) error {
	if ttl < time.Millisecond { // as finely as tokens count
		return misuse("%s must be at least 1ms, not %v", name, ttl)
	}
	return nil
}

// flags are those of the tokens sealed with these options.
func (o *Options) flags() (flags byte) {
	for flag, set := range map[byte]bool{
		flagReadable: o.Readable, flagPerPrincipal: o.PerPrincipal, flagPerSession: o.PerSession, flagInstance: o.Instance != "",
	} {
		if set {
			flags |= flag
		}
	}
	return flags
}

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
