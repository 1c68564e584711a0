package statecodec

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

const (
	saltV1    = "mrtr statecodec v1"
	infoKeyID = "key id"
	infoToken = "token"
)

// maxScopes bounds how many principals' or sessions' keys are remembered.
const maxScopes = 1024

// ringKey is one key of the ring, derived for one purpose.
type ringKey struct {
	id      KeyID
	key     Key
	purpose string
	plain   *subkeys

	mu     sync.Mutex
	scoped map[string]*subkeys // deriving costs as much as several tokens
}

func newRingKey(key Key, purpose string) (*ringKey, error) {
	k := &ringKey{id: key.ID(), key: key, purpose: purpose}
	var err error
	k.plain, err = k.derive(k.info(0, &Binding{}))
	return k, err
}

// subkeys returns the keys for a token with these flags and binding.
func (k *ringKey) subkeys(flags byte, b *Binding) (*subkeys, error) {
	scope := flags & (flagPerPrincipal | flagPerSession)
	if scope == 0 {
		return k.plain, nil
	}
	info := k.info(scope, b)
	k.mu.Lock()
	defer k.mu.Unlock()
	if sub, ok := k.scoped[info]; ok {
		return sub, nil
	}
	sub, err := k.derive(info)
	if err != nil {
		return nil, err
	}
	if k.scoped == nil || len(k.scoped) >= maxScopes {
		k.scoped = make(map[string]*subkeys)
	}
	k.scoped[info] = sub
	return sub, nil
}

// info is the context that HKDF derives sub-keys for: it differs for any two
// purposes, and for any two principals or sessions if the scope includes them.
func (k *ringKey) info(scope byte, b *Binding) string {
	info := append([]byte(infoToken), scope)
	info = appendField(info, k.purpose)
	if scope&flagPerPrincipal != 0 {
		info = appendField(info, b.Principal)
	}
	if scope&flagPerSession != 0 {
		info = appendField(info, b.Session)
	}
	return string(info)
}

func (k *ringKey) derive(info string) (*subkeys, error) {
	keys, err := hkdf.Expand(sha256.New, k.key.material().prk, info, 64)
	if err != nil {
		return nil, &InternalError{message: "deriving a sub-key", cause: err}
	}
	block, err := aes.NewCipher(keys[32:])
	if err != nil {
		return nil, &InternalError{message: "preparing the cipher", cause: err}
	}
	sub := &subkeys{block: block}
	sub.pool.New = func() any { return &scratch{mac: hmac.New(sha256.New, keys[:32])} }
	return sub, nil
}

// subkeys seal and open: a cipher, and MACs whose key is already absorbed.
type subkeys struct {
	block cipher.Block
	pool  sync.Pool // of *scratch
}

// scratch holds the buffers of one Seal or Open. Between two of them it holds no payload,
// nor any that one can be made of.
type scratch struct {
	mac     hash.Hash
	buf     []byte // the input of the MAC: the binding, then the token's text
	body    []byte // nonce and ciphertext
	nonce   [nonceLen]byte
	counter [aes.BlockSize]byte
	stream  [aes.BlockSize]byte
	sum     [sha256.Size]byte
	tag     [tagTextLen]byte // the MAC as it should be
	claimed [tagTextLen]byte // and as the token has it
	members []member
	spare   []byte
}

// maxRetained bounds the buffers that are kept: one huge request must not pin its own.
const maxRetained = 256 << 10

func (s *subkeys) get() *scratch { return s.pool.Get().(*scratch) }

func (s *subkeys) put(w *scratch) {
	if cap(w.buf)+cap(w.body)+cap(w.spare) <= maxRetained && cap(w.members) <= maxRetained/64 {
		s.pool.Put(w)
	}
}

// authenticate returns the text of the MAC over buf. It is valid until the
// scratch is used again.
func (w *scratch) authenticate() []byte {
	w.mac.Reset()
	w.mac.Write(w.buf)
	return appendText(w.tag[:0], w.mac.Sum(w.sum[:0])[:tagLen])
}

// appendField appends a string with its length before it.
func appendField(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
