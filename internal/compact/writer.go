package compact

import (
	"encoding/base64"
	"encoding/binary"
)

// Writer appends an object whose fields have one fixed order and no names. An object
// begins with a bit for each of its fields, which is all that an empty field takes.
type Writer struct {
	b     []byte
	key   string
	inner bits
	outer bits // of the object around the list that is being written
}

// bits are the bits of an object: where they are, and which one is next.
type bits struct{ at, next int }

// Begin starts the object behind the bytes of b: the version of its format, and room
// for the bits of as many fields.
func Begin(b []byte, format byte, fields int) Writer {
	w := Writer{b: append(b, format)}
	w.open(fields)
	return w
}

// End returns all the bytes.
func (w *Writer) End() []byte { return w.b }

func (w *Writer) open(fields int) {
	w.inner = bits{at: len(w.b)}
	for range (fields + 7) / 8 {
		w.b = append(w.b, 0)
	}
}

func (w *Writer) has(present bool) bool {
	if present {
		w.b[w.inner.at+w.inner.next/8] |= 1 << (w.inner.next % 8)
	}
	w.inner.next++
	return present
}

// Text writes text, of which frequent pieces take one byte.
func (w *Writer) Text(v string) {
	if w.has(v != "") {
		w.b = append(appendShortened(w.b, v, ""), endOfText)
	}
}

// Key writes a text that the values of the same object are likely to repeat.
func (w *Writer) Key(v string) {
	w.Text(v)
	w.key = v
}

// Raw writes a value, which is likely to be JSON. It returns the text that it wrote,
// valid until the next field.
func (w *Writer) Raw(v []byte) (short []byte) {
	if w.has(len(v) > 0) {
		at := len(w.b)
		w.b = appendShortened(w.b, v, w.key)
		short = w.b[at:]
		w.b = append(w.b, endOfText)
	}
	return short
}

// Short writes a value by the text that [Writer.Raw] returned for it, beside the same key.
func (w *Writer) Short(text []byte) {
	w.has(true)
	w.b = append(append(w.b, text...), endOfText)
}

// Token writes an identifier, which is shorter where it is a number in hexadecimal
// or consists of the characters of base64url.
func (w *Writer) Token(v string) {
	if w.has(v != "") {
		w.b = appendToken(w.b, v)
	}
}

// Word writes one of a few words, by its place among those known. Any other is spelled
// out. It is never left out.
func Word[S ~string](w *Writer, known []S, v S) {
	for i, word := range known {
		if word == v {
			w.b = append(w.b, byte(i+1))
			return
		}
	}
	w.b = appendToken(append(w.b, 0), string(v))
}

// Number writes a number that is not negative.
func (w *Writer) Number(v int) {
	if w.has(v != 0) {
		w.b = binary.AppendUvarint(w.b, uint64(v))
	}
}

// Flag takes no more than its bit.
func (w *Writer) Flag(v bool) { w.has(v) }

// Time writes milliseconds. They are never left out.
func (w *Writer) Time(v int64) { w.b = binary.AppendVarint(w.b, v) }

// List starts a list of so many objects, and reports whether there are any. The fields
// behind a list belong to the object around it again, after [Writer.EndList].
func (w *Writer) List(n int) bool {
	if !w.has(n > 0) {
		return false
	}
	w.b = binary.AppendUvarint(w.b, uint64(n))
	w.outer = w.inner
	return true
}

// Object starts an object of a list.
func (w *Writer) Object(fields int) { w.open(fields) }

// EndList ends a list that has objects.
func (w *Writer) EndList() { w.inner, w.key = w.outer, "" }

// The spellings of a token, in the low bits of its length: in characters, or of
// hexadecimal in bytes.
const (
	_ = iota // as it is
	hexToken
	sixBitToken // as base64url, without the bits that its last byte has too many
)

func appendToken(b []byte, v string) []byte {
	switch {
	case len(v)%2 == 0 && isHex(v):
		b = binary.AppendUvarint(b, uint64(len(v)/2)<<2|hexToken)
		for i := 0; i < len(v); i += 2 {
			b = append(b, nibble(v[i])<<4|nibble(v[i+1]))
		}
		return b
	case isSixBit(v):
		b = binary.AppendUvarint(b, uint64(len(v))<<2|sixBitToken)
		var bytes [3]byte
		for len(v) > 0 {
			group := [4]byte{'A', 'A', 'A', 'A'}
			n := copy(group[:], v)
			base64.RawURLEncoding.Decode(bytes[:], group[:])
			b = append(b, bytes[:sixBitLen(n)]...)
			v = v[n:]
		}
		return b
	}
	return append(binary.AppendUvarint(b, uint64(len(v))<<2), v...)
}

// sixBitLen is how many bytes n characters of six bits take.
func sixBitLen(n int) int { return (n*6 + 7) / 8 }

func isHex(v string) bool {
	for i := range len(v) {
		if c := v[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

func isSixBit(v string) bool {
	for i := range len(v) {
		if c := v[i]; !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func nibble(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}
