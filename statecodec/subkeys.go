package statecodec

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
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
	key     Key
	purpose string
	plain   *subkeys

	mu     sync.Mutex
	scoped map[string]*subkeys // deriving costs as much as several tokens
}

func newRingKey(key Key, purpose string) *ringKey {
	k := &ringKey{key: key, purpose: purpose}
	k.plain = k.derive(k.info(0, &Binding{}))
	return k
}

// subkeys returns the keys for a token with these flags and binding.
func (k *ringKey) subkeys(flags byte, b *Binding) *subkeys {
	scope := flags & (flagPerPrincipal | flagPerSession)
	if scope == 0 {
		return k.plain
	}
	info := k.info(scope, b)
	k.mu.Lock()
	defer k.mu.Unlock()
	if sub, ok := k.scoped[info]; ok {
		return sub
	}
	sub := k.derive(info)
	if k.scoped == nil || len(k.scoped) >= maxScopes {
		k.scoped = make(map[string]*subkeys)
	}
	k.scoped[info] = sub
	return sub
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

// derive cannot fail: NewKey has expanded the same key, and the sizes are fixed.
func (k *ringKey) derive(info string) *subkeys {
	keys, err := hkdf.Expand(sha256.New, k.key.material().prk, info, 64)
	if err != nil {
		panic(err)
	}
	block, err := aes.NewCipher(keys[32:])
	if err != nil {
		panic(err)
	}
	sub := &subkeys{block: block}
	sub.pool.New = func() any { return &scratch{mac: hmac.New(sha256.New, keys[:32])} }
	return sub
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

// maxByHand is the longest text that is encrypted block by block. [cipher.NewCTR] copies
// the key schedule, which takes longer than the blocks of most states; for longer ones
// it works on several blocks at once.
const maxByHand = 512

// counterMode encrypts or decrypts text in place, under counter blocks that begin with
// the nonce. It needs the scratch for blocks that do not escape.
func (s *subkeys) counterMode(w *scratch, nonce, text []byte) {
	if len(text) > maxByHand {
		cipher.NewCTR(s.block, nonce).XORKeyStream(text, text)
		return
	}
	high, low := binary.BigEndian.Uint64(nonce), binary.BigEndian.Uint64(nonce[8:])
	for len(text) > 0 {
		binary.BigEndian.PutUint64(w.counter[:], high)
		binary.BigEndian.PutUint64(w.counter[8:], low)
		s.block.Encrypt(w.stream[:], w.counter[:])
		if low++; low == 0 {
			high++
		}
		text = text[subtle.XORBytes(text, text, w.stream[:]):]
	}
	w.stream = [aes.BlockSize]byte{} // with which the text could be read
}
