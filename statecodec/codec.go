package statecodec

import (
	"crypto/rand"
	"crypto/subtle"
	"io"
	"slices"
	"strconv"
	"time"
)

// Codec seals and opens tokens. It may be used from several goroutines at once.
type Codec struct {
	settings
	keys []Key
	ring []*ringKey // of the keys; the first seals
}

// New makes a codec. Invalid options are a [*UsageError]. So are nil options, since a
// codec needs a key: see [NewEphemeral].
func New(opts *Options) (*Codec, error) {
	if opts == nil {
		opts = &Options{}
	}
	checked, keys, err := opts.check()
	if err != nil {
		return nil, err
	}
	c := &Codec{settings: checked, keys: slices.Clone(keys)}
	return c.derive("")
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
func (c *Codec) Ephemeral() bool { return c.ephemeral }

// For returns a codec with the same settings and with sub-keys for another purpose.
// The tokens of one purpose do not open under another. The purpose replaces that
// of c; a codec from New has the empty one. Deriving keys takes time: call For once
// and keep the result.
func (c *Codec) For(purpose string) *Codec {
	derived, err := c.derive(purpose)
	if err != nil {
		panic(err) // New derived from the same keys, and the purpose cannot fail
	}
	return derived
}

func (c *Codec) derive(purpose string) (*Codec, error) {
	derived := &Codec{settings: c.settings, keys: c.keys, ring: make([]*ringKey, len(c.keys))}
	for i, key := range c.keys {
		var err error
		if derived.ring[i], err = newRingKey(key, purpose); err != nil {
			return nil, err
		}
	}
	return derived, nil
}

// Seal makes a token that opens to the payload, for this binding alone, until
// the TTL has passed. A payload too large for MaxToken is a [*UsageError] that
// wraps [ErrTooLarge], arguments without a canonical form one that wraps
// [ErrArguments]; a random source that fails is an [*InternalError].
func (c *Codec) Seal(b Binding, payload []byte) (string, error) {
	h := header{flags: c.flags, key: c.ring[0].id, bodyLen: len(payload), instance: c.instance}
	if h.flags&flagReadable == 0 {
		h.bodyLen += nonceLen
	}
	if size := h.tokenLen(); size > c.maxToken {
		return "", &UsageError{message: "a payload of " + strconv.Itoa(len(payload)) + " bytes makes a token of " +
			strconv.Itoa(size) + ", and MaxToken is " + strconv.Itoa(c.maxToken), cause: ErrTooLarge}
	}
	now := time.Now()
	h.issued, h.expires = now.UnixMilli(), now.Add(c.ttl).UnixMilli()
	keys, err := c.ring[0].subkeys(h.flags, &b)
	if err != nil {
		return "", err
	}
	w := keys.get()
	defer keys.put(w)
	if err := b.appendTo(w); err != nil {
		return "", &UsageError{message: err.Error(), cause: ErrArguments}
	}
	start := len(w.buf)
	w.buf = h.append(w.buf)
	body := payload
	if h.flags&flagReadable == 0 {
		if body, err = keys.encrypt(w, payload); err != nil {
			return "", err
		}
	}
	w.buf = appendText(w.buf, body)
	w.buf = append(w.buf, w.authenticate()...)
	return string(w.buf[start:]), nil
}

// Open returns the payload of a token that was sealed for this binding, in a slice
// that the caller may keep and change; an empty payload is empty and not nil. A
// refused token is a [*TokenError]. Open never returns a [*UsageError], since
// everything it judges came with the request.
func (c *Codec) Open(b Binding, token string) ([]byte, error) {
	payload, err := c.AppendOpen(nil, b, token)
	if err == nil && payload == nil {
		payload = []byte{}
	}
	return payload, err
}

// AppendOpen is [Codec.Open] with the payload appended to dst, whose memory a caller
// can use again. For a refused token it is dst as it was.
func (c *Codec) AppendOpen(dst []byte, b Binding, token string) ([]byte, error) {
	if len(token) > c.maxToken {
		return dst, errTooLarge
	}
	h, refused := readHeader(token)
	if refused != nil {
		return dst, refused
	}
	key := c.find(h.key)
	if key == nil {
		return dst, errUnknownKey
	}
	keys, err := key.subkeys(h.flags, &b)
	if err != nil {
		return dst, err
	}
	w := keys.get()
	defer keys.put(w)
	if err := b.appendTo(w); err != nil {
		return dst, errArguments
	}
	// The MAC covers the text and not the decoded bytes, so a forgery is refused
	// before its body is decoded, and no second spelling of a token can pass.
	text, tag := token[:len(token)-tagTextLen], token[len(token)-tagTextLen:]
	w.buf = append(w.buf, text...)
	copy(w.claimed[:], tag)
	if subtle.ConstantTimeCompare(w.authenticate(), w.claimed[:]) != 1 {
		return dst, errForged
	}
	if refused := c.checkTime(&h); refused != nil {
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
	if !readText(body, text[h.clearLen():]) {
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

func (c *Codec) find(id KeyID) *ringKey {
	for _, key := range c.ring {
		if key.id == id {
			return key
		}
	}
	return nil
}

// checkTime must be called after the MAC was checked: the header is authentic then.
func (c *Codec) checkTime(h *header) *TokenError {
	now, skew := time.Now().UnixMilli(), c.skew.Milliseconds()
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
