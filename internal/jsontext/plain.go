package jsontext

import (
	"encoding/binary"
	"math/bits"
)

// IsPlain reports whether a name or text is printable ASCII, and is so without escapes.
func IsPlain[T string | []byte](text T) bool { return plainPrefix([]byte(text)) == len(text) }

// plainPrefix counts the bytes in front that stand for themselves in a JSON string: printable
// ASCII without a quote or a backslash. Most text of a call is of that kind, and is read eight
// bytes at a time.
func plainPrefix(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		word := binary.LittleEndian.Uint64(text[i:])
		if found := unplain(word); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// unplain sets the highest bit of the lowest byte that is not plain, and is 0 if all eight are.
// Bits above the lowest one it sets mean nothing: a borrow or a carry may have set them.
func unplain(word uint64) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	quote, backslash := word^'"'*ones, word^'\\'*ones
	control := (word - ' '*ones) &^ word
	beyond := word | (word + ones) // DEL, and all that is not ASCII
	return (control | beyond | (quote-ones)&^quote | (backslash-ones)&^backslash) & high
}
