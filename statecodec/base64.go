package statecodec

import (
	"encoding/binary"
	"slices"
)

// The text of a token is base64url without padding, in its one spelling. The encoder
// and decoder here know nothing else: encoding/base64 skips line breaks and checks the
// unused bits only if asked, and its generality takes longer than the whole of a short
// token needs. A test holds them against it.

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// values are those of the characters, or invalid. The table is small, since a large one
// is out of the processor's cache in each call.
var values = func() (table [256]byte) {
	for c := range table {
		table[c] = invalid
	}
	for v := range len(alphabet) {
		table[alphabet[v]] = byte(v)
	}
	return table
}()

const invalid = 0xff

// textLen is the length of the text of n bytes.
func textLen(n int) int { return (n*8 + 5) / 6 }

// appendText appends the text of bytes.
func appendText(dst, src []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, textLen(len(src)))[:at+len(src)/3*4]
	to := dst[at:]
	for ; len(src) >= 8 && len(to) >= 8; src, to = src[6:], to[8:] { // of eight bytes six
		v := binary.BigEndian.Uint64(src)
		to[0], to[1], to[2], to[3] = alphabet[v>>58], alphabet[v>>52&63], alphabet[v>>46&63], alphabet[v>>40&63]
		to[4], to[5], to[6], to[7] = alphabet[v>>34&63], alphabet[v>>28&63], alphabet[v>>22&63], alphabet[v>>16&63]
	}
	for ; len(src) >= 3 && len(to) >= 4; src, to = src[3:], to[4:] {
		v := uint32(src[0])<<16 | uint32(src[1])<<8 | uint32(src[2])
		to[0], to[1], to[2], to[3] = alphabet[v>>18&63], alphabet[v>>12&63], alphabet[v>>6&63], alphabet[v&63]
	}
	switch len(src) {
	case 1:
		dst = append(dst, alphabet[src[0]>>2], alphabet[src[0]<<4&63])
	case 2:
		v := uint32(src[0])<<8 | uint32(src[1])
		dst = append(dst, alphabet[v>>10], alphabet[v>>4&63], alphabet[v<<2&63])
	}
	return dst
}

// readText writes the bytes of a text to dst, which has just the room for them. It is
// false for a text that appendText does not write, or that is not as long as this.
func readText[T string | []byte](dst []byte, text T) bool {
	if len(text) != textLen(len(dst)) {
		return false
	}
	seen := byte(0)
	for ; len(dst) >= 8 && len(text) >= 8; dst, text = dst[6:], text[8:] {
		a, b, c, d := values[text[0]], values[text[1]], values[text[2]], values[text[3]]
		e, f, g, h := values[text[4]], values[text[5]], values[text[6]], values[text[7]]
		seen |= a | b | c | d | e | f | g | h
		v := uint64(a)<<58 | uint64(b)<<52 | uint64(c)<<46 | uint64(d)<<40 | uint64(e)<<34 | uint64(f)<<28 | uint64(g)<<22 | uint64(h)<<16
		binary.BigEndian.PutUint64(dst, v) // of eight bytes six, the others are written again
	}
	for ; len(dst) >= 3 && len(text) >= 4; dst, text = dst[3:], text[4:] {
		a, b, c, d := values[text[0]], values[text[1]], values[text[2]], values[text[3]]
		seen |= a | b | c | d
		dst[0], dst[1], dst[2] = a<<2|b>>4, b<<4|c>>2, c<<6|d
	}
	switch len(dst) {
	case 1:
		a, b := values[text[0]], values[text[1]]
		seen |= a | b
		dst[0] = a<<2 | b>>4
		if b&0x0f != 0 {
			return false
		}
	case 2:
		a, b, c := values[text[0]], values[text[1]], values[text[2]]
		seen |= a | b | c
		dst[0], dst[1] = a<<2|b>>4, b<<4|c>>2
		if c&0x03 != 0 {
			return false
		}
	}
	return seen&0xc0 == 0
}
