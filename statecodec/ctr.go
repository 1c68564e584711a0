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
		n := min(len(text), aes.BlockSize)
		subtle.XORBytes(text, text[:n], w.stream[:n])
		text = text[n:]
	}
	w.stream = [aes.BlockSize]byte{} // with which the text could be read
}
