package statecodec

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"strings"
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
// Fewer than [MinSecret] bytes are a [*UsageError].
func NewKey(secret []byte) (Key, error) {
	if len(secret) < MinSecret {
		return Key{}, &UsageError{message: "a key needs at least " + strconv.Itoa(MinSecret) +
			" bytes, not " + strconv.Itoa(len(secret))}
	}
	prk, err := hkdf.Extract(sha256.New, secret, []byte(saltV1))
	if err != nil {
		return Key{}, &InternalError{message: "deriving a key", cause: err}
	}
	id, err := hkdf.Expand(sha256.New, prk, infoKeyID, len(KeyID{}))
	if err != nil {
		return Key{}, &InternalError{message: "deriving a key id", cause: err}
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
		return Key{}, err
	}
	key, err := NewKey(secret)
	if err == nil {
		err = checkSecret(secret)
	}
	if err != nil {
		return Key{}, err
	}
	return key, nil
}

func parseSecret(text string) ([]byte, error) {
	if secret, err := hex.DecodeString(text); err == nil {
		return secret, nil
	}
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
	secret, err := encoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return nil, &UsageError{message: "a key must be base64 or hexadecimal text"}
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
		return nil, &UsageError{message: "environment variable " + name + " holds no key: 32 random bytes in base64 are one, such as openssl rand -base64 32 prints"}
	}
	keys := make([]Key, len(texts))
	for i, text := range texts {
		key, err := ParseKey(text)
		if err != nil {
			return nil, &UsageError{message: "environment variable " + name + ", key " + strconv.Itoa(i+1), cause: err}
		}
		keys[i] = key
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
