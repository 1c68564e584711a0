package statecodec

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
)

// MinSecret is the least number of bytes for a key.
const MinSecret = 32

// Key is a secret that seals and opens tokens. It prints as redacted with every fmt
// verb, in slog and in JSON; only [Key.Text] shows it. [New] refuses the zero Key.
type Key struct {
	id KeyID
	// The secret lies in a closure because fmt prints a closure as an address.
	// In an unexported field of another struct fmt does not call our methods,
	// and it follows a pointer there if the verb does not suit it.
	material func() material
}

type material struct{ secret, prk []byte }

// KeyID names a key inside the tokens it sealed. It is derived from the secret,
// does not reveal it, and may be logged.
type KeyID [4]byte

// String returns the id as eight hexadecimal digits.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// NewKey makes a key from a copy of the secret: random bytes, never a password.
// Fewer than [MinSecret] bytes are a [*UsageError], and so is one byte repeated, as in a
// buffer that nobody filled.
func NewKey(secret []byte) (Key, error) {
	if len(secret) < MinSecret {
		return Key{}, misuse("a key needs at least %d bytes, not %d", MinSecret, len(secret))
	}
	if bytes.Count(secret, secret[:1]) == len(secret) {
		return Key{}, misuse("a key must be random bytes, and this one is the byte %#02x repeated: make one with GenerateKey", secret[0])
	}
	prk, err := hkdf.Extract(sha256.New, secret, []byte(saltV1))
	id, idErr := hkdf.Expand(sha256.New, prk, infoKeyID, len(KeyID{}))
	if err := errors.Join(err, idErr); err != nil {
		return Key{}, &InternalError{message: "deriving a key", cause: err}
	}
	m := material{secret: slices.Clone(secret), prk: prk}
	return Key{id: KeyID(id), material: func() material { return m }}, nil
}

// ParseKey reads a key from text: hexadecimal, or base64 in the standard or the
// URL alphabet, padded or not. Space around it is ignored. Text of hexadecimal
// digits alone is read as hexadecimal. Anything else, text that is hexadecimal but
// for a missing or mistyped digit, a key that is too short, and one that is a
// pattern and not random, is a [*UsageError], which does not repeat the text.
func ParseKey(text string) (Key, error) {
	secret, err := parseSecret(strings.TrimSpace(text))
	if err != nil {
		return Key{}, misuse("%w", err)
	}
	return NewKey(secret)
}

func parseSecret(text string) ([]byte, error) {
	secret, err := hex.DecodeString(text)
	if err != nil {
		if err := checkText(text); err != nil {
			return nil, err
		}
		encoding := base64.StdEncoding
		if strings.ContainsAny(text, "-_") {
			encoding = base64.URLEncoding
		}
		if !strings.HasSuffix(text, "=") {
			encoding = encoding.WithPadding(base64.NoPadding)
		}
		if secret, err = encoding.Strict().DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
			return nil, errors.New("a key must be base64 or hexadecimal text")
		}
	}
	switch {
	case len(secret) < MinSecret:
		return nil, fmt.Errorf("a key needs at least %d bytes, not %d", MinSecret, len(secret))
	case isPattern(secret):
		return nil, errors.New("a key must be random bytes, not a pattern: make one with GenerateKey, or with a tool such as openssl rand -base64 32")
	}
	return secret, nil
}

// GenerateKey makes a key of 32 random bytes.
func GenerateKey() Key {
	secret := make([]byte, MinSecret)
	rand.Read(secret) // never fails: see its documentation
	key, err := NewKey(secret)
	if err != nil {
		panic(err) // the length is right, so HKDF itself is broken
	}
	return key
}

// KeysFromEnv reads a ring of keys from an environment variable, separated by
// commas or white space. The first one seals. A variable that is unset or
// empty, and a key that does not parse, is a [*UsageError] that names the
// variable and never its value.
func KeysFromEnv(name string) ([]Key, error) {
	texts := strings.FieldsFunc(os.Getenv(name), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(texts) == 0 {
		return nil, misuse("environment variable %s holds no key: 32 random bytes in base64 are one, such as openssl rand -base64 32 prints", name)
	}
	keys := make([]Key, len(texts))
	for i, text := range texts {
		secret, err := parseSecret(text)
		if err != nil {
			return nil, misuse("environment variable %s, key %d: %w", name, i+1, err)
		}
		if keys[i], err = NewKey(secret); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// ID returns the id that tokens sealed with this key carry.
func (k Key) ID() KeyID { return k.id }

// Text returns the secret as unpadded URL-safe base64, which [ParseKey] reads.
// It is for handing a new key to whoever keeps it, never for a log.
func (k Key) Text() string {
	if k.material == nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(k.material().secret)
}

// checkText refuses text that can be read as a key in two ways: as hexadecimal with
// a digit too few or mistyped, and as base64 of something else. About a third of a
// random secret in base64 are hexadecimal digits, and of 43 characters not once in
// 10^13 more than nine tenths.
func checkText(text string) error {
	digits := 0
	for _, b := range []byte(text) {
		if strings.IndexByte("0123456789abcdefABCDEF", b) >= 0 {
			digits++
		}
	}
	switch {
	case digits == len(text) && digits%2 == 1:
		return errors.New("a key in hexadecimal text has an odd number of digits: one is missing, or one too many")
	case digits < len(text) && digits*10 > len(text)*9:
		return errors.New("a key is neither hexadecimal text nor likely to be base64: most of it are hexadecimal digits, not all")
	}
	return nil
}

// isPattern reports whether nobody drew a secret at random: it has fewer than eight
// different bytes, or the steps from byte to byte are one piece that is repeated, the last
// time perhaps cut, as where the bytes repeat or count. Of random keys not one in 10^30
// is such.
func isPattern(secret []byte) bool {
	different, steps := map[byte]bool{}, make([]byte, len(secret)-1)
	for i, b := range secret {
		different[b] = true
		if i > 0 {
			steps[i-1] = b - secret[i-1]
		}
	}
	for size := 1; size <= len(secret)/2; size++ {
		if bytes.HasPrefix(steps, steps[size:]) {
			return true
		}
	}
	return len(different) < 8
}

// fmt calls a Formatter for every verb, a Stringer not for %d and %#v.

// Format writes the key's id for every verb.
func (k Key) Format(f fmt.State, _ rune) { io.WriteString(f, k.redacted()) }

// MarshalText returns the key's id, for JSON and slog. It cannot be read back.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.redacted()), nil }

func (k Key) redacted() string {
	if k.material == nil {
		return "statecodec.Key(none)"
	}
	return "statecodec.Key(" + k.ID().String() + ", redacted)"
}

// Format writes the ids of the codec's keys for every verb.
func (c Codec) Format(f fmt.State, _ rune) { io.WriteString(f, c.redacted()) }

// MarshalText returns the ids of the codec's keys, for JSON and slog.
func (c Codec) MarshalText() ([]byte, error) { return []byte(c.redacted()), nil }

func (c Codec) redacted() string {
	return "statecodec.Codec(keys " + c.opts.Keyring.ids() + ", redacted)"
}

// Keyring is a ring of keys that can be replaced while codecs use it: the first key seals, all
// of them open. It may be used from several goroutines at once.
//
// Where several instances share their keys, a new one goes to each of them in three phases, so
// that no token meets an instance which cannot open it:
//
//	ring.Replace(old, new) // 1. every instance opens what the others will seal
//	ring.Replace(new, old) // 2. when all have done so: seal with the new one
//	ring.Replace(new)      // 3. when the last token of the old one has expired
//
// A single process needs no first phase.
type Keyring struct {
	keys atomic.Pointer[[]Key]
}

// NewKeyring makes a ring of one key or more. Keys that cannot be used are a [*UsageError].
func NewKeyring(keys ...Key) (*Keyring, error) {
	r := &Keyring{}
	if err := r.Replace(keys...); err != nil {
		return nil, err
	}
	return r, nil
}

// Replace puts other keys in the place of all. Tokens that are sealed and opened meanwhile are
// so with either. Keys that cannot be used are a [*UsageError], and leave the ring as it was.
func (r *Keyring) Replace(keys ...Key) error {
	if err := checkKeys(keys); err != nil {
		return misuse("a keyring: %w", err)
	}
	keys = slices.Clone(keys)
	r.keys.Store(&keys)
	return nil
}

func checkKeys(keys []Key) error {
	if len(keys) == 0 {
		return errors.New("it needs a key")
	}
	for i, key := range keys {
		if key.material == nil {
			return fmt.Errorf("key %d is the zero Key", i+1)
		}
		// Two different secrets have the same id once in four billion
		// pairs, and another key is easily made.
		if first := slices.IndexFunc(keys, func(k Key) bool { return k.id == key.id }); first < i {
			return fmt.Errorf("keys %d and %d have the same id, %s", first+1, i+1, key.ID())
		}
	}
	return nil
}

// Format writes the ids of the keys for every verb. They may be logged.
func (r *Keyring) Format(f fmt.State, _ rune) { io.WriteString(f, r.redacted()) }

// MarshalText returns the ids of the keys, for JSON and slog.
func (r *Keyring) MarshalText() ([]byte, error) { return []byte(r.redacted()), nil }

func (r *Keyring) redacted() string { return "statecodec.Keyring(keys " + r.ids() + ", redacted)" }

func (r *Keyring) ids() string {
	var ids []string
	if r != nil && r.keys.Load() != nil {
		for _, key := range *r.keys.Load() {
			ids = append(ids, key.id.String())
		}
	}
	return strings.Join(ids, " ")
}

// derived is a ring with the sub-keys of one purpose, and of one state of its keyring.
type derived struct {
	from *[]Key
	ring []*ringKey
}

// current is the ring with the keys that it has now. A key that stays keeps its sub-keys.
func (c *Codec) current() []*ringKey {
	keys, was := c.opts.Keyring.keys.Load(), c.derived.Load()
	if was != nil && was.from == keys {
		return was.ring
	}
	now := &derived{from: keys, ring: make([]*ringKey, len(*keys))}
	for i, key := range *keys {
		if was != nil {
			if at := slices.IndexFunc(was.ring, func(k *ringKey) bool {
				return k.key.id == key.id && bytes.Equal(k.key.material().secret, key.material().secret)
			}); at >= 0 {
				now.ring[i] = was.ring[at]
				continue
			}
		}
		now.ring[i] = newRingKey(key, c.purpose)
	}
	c.derived.Store(now)
	return now.ring
}
