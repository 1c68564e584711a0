// Package statecodec seals the request_state of a multi-round call: bytes in,
// token out, and the same bytes again only for the same request.
//
// A server that asks a question gives its client a token and keeps nothing of the
// call. The client can forge, alter or delay the token, or present it with another
// call. A token sealed here opens only if all of this holds:
//
//   - one of the codec's keys sealed it, and no character has changed since;
//   - it was sealed for the same [Binding]: method, target, arguments,
//     principal, audience and session, and the same purpose ([Codec.For]);
//   - its lifetime has begun and has not ended, give or take the clock skew.
//
// The payload is encrypted unless [Options.Readable] is set. A token opens as often
// as it is presented: single use needs a store on the server.
//
// A Codec fails in three ways. A [*UsageError] is a mistake in the calling code. A
// [*TokenError] is a refused token: its text is one fixed sentence that the client
// may read, and [TokenError.Reason] is for the log. An [*InternalError] is neither's
// fault.
//
// A token is encrypted with AES-256 in counter mode, then authenticated with
// HMAC-SHA256, under sub-keys from HKDF. SPEC.md fixes every
// byte, and the files in testdata hold an implementation to it.
package statecodec

import (
	"crypto/rand"
	"crypto/subtle"
	"io"
	"slices"
	"sync/atomic"
	"time"
)

// Codec seals and opens tokens. It may be used from several goroutines at once.
type Codec struct {
	opts    Options // with the defaults filled in
	flags   byte
	purpose string
	derived *atomic.Pointer[derived] // never nil inside; see current
}

// New makes a codec. Invalid options are a [*UsageError]. So are nil options, since a
// codec needs a key: see [NewEphemeral].
func New(opts *Options) (*Codec, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.resolve(); err != nil {
		return nil, err
	}
	return (&Codec{opts: o, flags: o.flags()}).For(""), nil
}

// NewEphemeral makes a codec with a random key that exists in this process alone.
func NewEphemeral() *Codec {
	c, err := New(&Options{Ephemeral: true})
	if err != nil {
		panic(err) // these options are valid
	}
	return c
}

// Ephemeral reports whether the key exists in this process alone, so that its tokens
// do not open after a restart or on another instance.
func (c *Codec) Ephemeral() bool { return c.opts.Ephemeral }

// Skew is how far the clocks of those who share tokens may differ.
func (c *Codec) Skew() time.Duration { return c.opts.Skew }

// For returns a codec with the same settings and with sub-keys for another purpose.
// The tokens of one purpose do not open under another. The purpose replaces that
// of c; a codec from New has the empty one. Deriving keys takes time: call For once
// and keep the result.
func (c *Codec) For(purpose string) *Codec {
	other := *c
	other.purpose, other.derived = purpose, new(atomic.Pointer[derived])
	other.current()
	return &other
}

// Lasting returns a codec with the same keys whose tokens live for ttl. Both open the tokens
// of either, since a token carries its own end.
func (c *Codec) Lasting(ttl time.Duration) (*Codec, error) {
	if err := checkTTL("Lasting: its argument", ttl); err != nil {
		return nil, err
	}
	other := *c
	other.opts.TTL = ttl
	return &other, nil
}

// Seal makes a token that opens to the payload, for this binding alone, until
// the TTL has passed. A payload too large for MaxToken is a [*UsageError] that
// wraps [ErrTooLarge], arguments without a canonical form one that wraps
// [ErrArguments]; a random source that fails is an [*InternalError].
func (c *Codec) Seal(b Binding, payload []byte) (string, error) {
	sealing := c.current()[0]
	h := header{flags: c.flags, key: sealing.key.id, bodyLen: len(payload), instance: c.opts.Instance}
	if h.flags&flagReadable == 0 {
		h.bodyLen += nonceLen
	}
	if size := h.tokenLen(); size > c.opts.MaxToken {
		return "", misuse("a payload of %d bytes makes a token of %d, and MaxToken is %d: %w", len(payload), size, c.opts.MaxToken, ErrTooLarge)
	}
	now := time.Now()
	h.issued, h.expires = now.UnixMilli(), now.Add(c.opts.TTL).UnixMilli()
	keys := sealing.subkeys(h.flags, &b)
	w := keys.get()
	defer keys.put(w)
	if err := b.appendTo(w); err != nil {
		return "", misuse("%v: %w", err, ErrArguments)
	}
	start := len(w.buf)
	w.buf = h.append(w.buf)
	body := payload
	if h.flags&flagReadable == 0 {
		var err error
		if body, err = keys.encrypt(w, payload); err != nil {
			return "", err
		}
	}
	w.buf = appendText(w.buf, body)
	w.buf = append(w.buf, w.authenticate()...)
	return string(w.buf[start:]), nil
}

// Digest is a keyed digest of a binding, for the name of something that belongs to it: nobody
// without the key can tell which binding it is of. It is as long as the MAC of a token, changes with
// the key that seals, and arguments without a canonical form fail as in Seal. Keep the purpose apart
// from those that seal ([Codec.For]).
func (c *Codec) Digest(b Binding) (string, error) {
	keys := c.current()[0].plain
	w := keys.get()
	defer keys.put(w)
	if err := b.appendTo(w); err != nil {
		return "", misuse("%v: %w", err, ErrArguments)
	}
	return string(w.authenticate()), nil
}

// Open returns the payload of a token that was sealed for this binding, in a slice
// that the caller may keep and change; an empty payload is empty and not nil. A
// refused token is a [*TokenError]. Open never returns a [*UsageError], since
// everything it judges came with the request.
func (c *Codec) Open(b Binding, token string) ([]byte, error) {
	payload, err := c.AppendOpen(nil, b, token, time.Now())
	if err == nil && payload == nil {
		payload = []byte{}
	}
	return payload, err
}

// AppendOpen is [Codec.Open] as of a time, with the payload appended to dst, whose memory a
// caller can use again. For a refused token it is dst as it was. The time is now for a token that
// comes from a client. One that was kept where no client can put it opens for good as of when it
// was [Issued].
func (c *Codec) AppendOpen(dst []byte, b Binding, token string, at time.Time) ([]byte, error) {
	if len(token) > c.opts.MaxToken {
		return dst, errTooLarge
	}
	h, refused := readHeader(token)
	if refused != nil {
		return dst, refused
	}
	ring := c.current()
	i := slices.IndexFunc(ring, func(k *ringKey) bool { return k.key.id == h.key })
	if i < 0 {
		return dst, errUnknownKey
	}
	keys := ring[i].subkeys(h.flags, &b)
	w := keys.get()
	defer keys.put(w)
	if err := b.appendTo(w); err != nil {
		return dst, errArguments
	}
	// The MAC covers the text and not the decoded bytes, so a forgery is refused
	// before its body is decoded, and no second spelling of a token can pass.
	text, tag := token[:len(token)-tagTextLen], token[len(token)-tagTextLen:]
	start := len(w.buf)
	w.buf = append(w.buf, text...)
	copy(w.claimed[:], tag)
	if subtle.ConstantTimeCompare(w.authenticate(), w.claimed[:]) != 1 {
		return dst, errForged
	}
	if refused := c.checkTime(&h, at); refused != nil {
		return dst, refused
	}
	// The body is decoded behind the bytes of dst, and its nonce makes way for the
	// payload: a payload is nowhere but there.
	nonce := nonceLen
	if h.flags&flagReadable != 0 {
		nonce = 0
	}
	size := len(dst)
	opened := slices.Grow(dst, h.bodyLen)[:size+h.bodyLen]
	body := opened[size:]
	if !readText(body, w.buf[start+h.clearLen():]) {
		clear(body)
		return dst, errNotCanonical
	}
	if nonce > 0 {
		copy(w.nonce[:], body)
		copy(body, body[nonce:])
		clear(body[len(body)-nonce:])
		opened = opened[:len(opened)-nonce]
		keys.counterMode(w, w.nonce[:], opened[size:])
	}
	return opened, nil
}

// checkTime must be called after the MAC was checked: the header is authentic then.
func (c *Codec) checkTime(h *header, at time.Time) *TokenError {
	now, skew := at.UnixMilli(), c.opts.Skew.Milliseconds()
	switch {
	case h.issued >= h.expires:
		return errNotCanonical
	case now >= h.expires+skew:
		return errExpired
	case now < h.issued-skew:
		return errFuture
	}
	return nil
}

// encrypt returns a fresh nonce and the payload encrypted under it. The nonce is the
// whole 16-byte counter block: SPEC.md says how unlikely a collision is.
func (s *subkeys) encrypt(w *scratch, payload []byte) ([]byte, error) {
	if need := nonceLen + len(payload); cap(w.body) < need {
		w.body = make([]byte, need, need+need/4)
	}
	body := w.body[:nonceLen+len(payload)]
	if _, err := io.ReadFull(rand.Reader, body[:nonceLen]); err != nil {
		return nil, &InternalError{message: "reading random bytes", cause: err}
	}
	copy(body[nonceLen:], payload)
	s.counterMode(w, body[:nonceLen], body[nonceLen:])
	return body, nil
}

// Binding is the request that a token belongs to. A token opens for an equal
// binding only; an empty field is a value like any other.
type Binding struct {
	// Method and Target identify the call: "tools/call", "weather_native".
	Method, Target string
	// Arguments is the raw JSON of the arguments. It is compared by value:
	// order of members, white space, the spelling of numbers and escapes in
	// strings do not matter; any other difference does, and numbers are never
	// rounded. Absent arguments (no bytes at all) equal {}, as they do for a
	// server; null differs from both. -0 equals 0.
	//
	// Some values are refused, because JSON readers disagree on their meaning:
	// an object with the same name twice or with two names that differ in case
	// only (encoding/json takes them for one field), text that is not UTF-8 or has half a
	// surrogate pair, exponents beyond nine digits, and nesting deeper than 128.
	Arguments []byte
	// Principal is the caller, Audience the server or fleet that is called,
	// Session the transport session, if there is one.
	Principal, Audience, Session string
}

// appendTo appends the binding as the MAC covers it. Every field has its length
// before it; the arguments end at a zero byte, which their canonical form cannot
// contain.
func (b *Binding) appendTo(w *scratch) error {
	w.buf = appendField(w.buf[:0], b.Method)
	w.buf = appendField(w.buf, b.Target)
	w.buf = appendField(w.buf, b.Principal)
	w.buf = appendField(w.buf, b.Audience)
	w.buf = appendField(w.buf, b.Session)
	if err := w.appendArguments(b.Arguments); err != nil {
		return err
	}
	w.buf = append(w.buf, 0)
	return nil
}
