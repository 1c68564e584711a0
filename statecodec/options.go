package statecodec

import (
	"strconv"
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

// settings are options that have been checked.
type settings struct {
	ttl, skew time.Duration
	maxToken  int
	flags     byte
	ephemeral bool
	instance  string
}

func (o *Options) check() (settings, []Key, error) {
	keys := o.Keys
	switch {
	case o.Ephemeral && len(keys) > 0:
		return settings{}, nil, &UsageError{message: "Options.Ephemeral makes its own key: give no Keys beside it"}
	case o.Ephemeral:
		keys = []Key{GenerateKey()}
	case len(keys) == 0:
		return settings{}, nil, &UsageError{message: "Options.Keys is empty: give a key, or set Ephemeral"}
	}
	seen := make(map[KeyID]int, len(keys))
	for i, key := range keys {
		if key.material == nil {
			return settings{}, nil, &UsageError{message: "Options.Keys: key " + strconv.Itoa(i+1) + " is the zero Key"}
		}
		if first, ok := seen[key.ID()]; ok {
			// Two different secrets have the same id once in four billion
			// pairs, and another key is easily made.
			return settings{}, nil, &UsageError{message: "Options.Keys: keys " + strconv.Itoa(first+1) + " and " +
				strconv.Itoa(i+1) + " have the same id, " + key.ID().String()}
		}
		seen[key.ID()] = i
	}
	s := settings{ttl: o.TTL, skew: o.Skew, maxToken: o.MaxToken, ephemeral: o.Ephemeral, instance: o.Instance}
	smallest := tokenLen(nonceLen)
	if o.Instance != "" {
		if err := CheckInstance(o.Instance); err != nil {
			return settings{}, nil, err
		}
		s.flags |= flagInstance
		smallest += 1 + len(o.Instance)
	}
	if s.ttl == 0 {
		s.ttl = DefaultTTL
	}
	if s.skew == 0 {
		s.skew = DefaultSkew
	}
	if s.maxToken == 0 {
		s.maxToken = DefaultMaxToken
	}
	switch {
	case s.ttl < time.Millisecond: // as finely as tokens count
		return settings{}, nil, &UsageError{message: "Options.TTL must be at least 1ms, not " + o.TTL.String()}
	case s.skew < 0 || s.skew > MaxSkew:
		return settings{}, nil, &UsageError{message: "Options.Skew must be between 0 and " + MaxSkew.String() + ", not " + o.Skew.String()}
	case s.maxToken < smallest || s.maxToken > MaxMaxToken:
		return settings{}, nil, &UsageError{message: "Options.MaxToken must be between " + strconv.Itoa(smallest) + " and " +
			strconv.Itoa(MaxMaxToken) + ", not " + strconv.Itoa(o.MaxToken)}
	}
	if o.Readable {
		s.flags |= flagReadable
	}
	if o.PerPrincipal {
		s.flags |= flagPerPrincipal
	}
	if o.PerSession {
		s.flags |= flagPerSession
	}
	return s, keys, nil
}
