// Package jsontext reads and writes JSON at the level of its bytes, for code that
// knows the shape of its text and cannot afford a decoder.
package jsontext

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// Writer appends an object whose members have one fixed order. Members with an
// empty value are left out, except for the first of each object.
type Writer struct{ b []byte }

// Begin starts the object behind the bytes of b, with a number.
func Begin(b []byte, name string, v int) Writer {
	w := Writer{append(b, '{')}
	w.quote(name)
	w.b = strconv.AppendInt(w.b, int64(v), 10)
	return w
}

// End closes the object and returns all the bytes.
func (w *Writer) End() []byte { return append(w.b, '}') }

func (w *Writer) Text(name, v string) {
	if v != "" {
		w.name(name)
		w.b = AppendString(w.b, v)
	}
}

func (w *Writer) Number(name string, v int) {
	if v != 0 {
		w.name(name)
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	}
}

func (w *Writer) Flag(name string, v bool) {
	if v {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

// Raw writes v as it is, which has to be JSON.
func (w *Writer) Raw(name string, v json.RawMessage) {
	if len(v) > 0 {
		w.name(name)
		w.b = append(w.b, v...)
	}
}

// List starts a list of objects. A list without any is to be left out.
func (w *Writer) List(name string) {
	w.name(name)
	w.b = append(w.b, '[')
}

func (w *Writer) EndList() { w.b = append(w.b, ']') }

// Object starts the i-th object of a list, with a text.
func (w *Writer) Object(i int, name, v string) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '{')
	w.quote(name)
	w.b = AppendString(w.b, v)
}

func (w *Writer) EndObject() { w.b = append(w.b, '}') }

func (w *Writer) name(name string) {
	w.b = append(append(append(w.b, ',', '"'), name...), '"', ':')
}

// quote writes a member's name, which needs no escaping.
func (w *Writer) quote(name string) {
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

// AppendString writes s as a JSON string. Bytes that are not UTF-8 become the
// replacement character, as in encoding/json.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
			b = append(append(b, s[start:i]...), "\ufffd"...)
		} else {
			const hex = "0123456789abcdef"
			b = append(append(b, s[start:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

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
