package statecodec

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
)

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
		if len(text) < aes.BlockSize {
			subtle.XORBytes(text, text, w.stream[:])
			break
		}
		binary.NativeEndian.PutUint64(text, binary.NativeEndian.Uint64(text)^binary.NativeEndian.Uint64(w.stream[:]))
		binary.NativeEndian.PutUint64(text[8:], binary.NativeEndian.Uint64(text[8:])^binary.NativeEndian.Uint64(w.stream[8:]))
		text = text[aes.BlockSize:]
	}
	w.stream = [aes.BlockSize]byte{} // with which the text could be read
}
