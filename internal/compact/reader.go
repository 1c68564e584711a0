package compact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Reader reads an object that a [Writer] wrote, asking for its fields in the order in
// which they were written. After a mismatch [Reader.End] is false, and no value
// counts. A Reader must not be copied once it has been asked for a field.
type Reader struct {
	b      []byte
	key    string
	inner  uint32 // the bits of the fields that are still to be read
	outer  uint32 // those of the object around the list that is being read
	failed bool
	// The texts lie behind one another in one piece of memory, which is replaced and
	// never changed where they need more.
	texts strings.Builder
}

// Open starts to read an object, of as many fields as were announced to [Begin]. It
// fails on another format.
func Open(b []byte, format byte, fields int) (r Reader) {
	r.b = b
	if r.byte() != format {
		r.failed = true
	}
	r.open(fields)
	return r
}

// End reports whether the object, and the bytes, end here.
func (r *Reader) End() bool { return r.close() && len(r.b) == 0 }

// Failed reports whether there was a mismatch so far.
func (r *Reader) Failed() bool { return r.failed }

func (r *Reader) open(fields int) {
	r.inner = 0
	for i := range (fields + 7) / 8 {
		r.inner |= uint32(r.byte()) << (8 * i)
	}
}

// close reports whether every field that is there has been read.
func (r *Reader) close() bool {
	r.failed = r.failed || r.inner != 0
	return !r.failed
}

func (r *Reader) has() bool {
	is := r.inner&1 != 0 && !r.failed
	r.inner >>= 1
	return is
}

func (r *Reader) byte() (c byte) {
	if len(r.b) == 0 {
		r.failed = true
		return 0
	}
	c, r.b = r.b[0], r.b[1:]
	return c
}

func (r *Reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.failed = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Text reads a text.
func (r *Reader) Text() string {
	text := r.text()
	size := r.size(text, "")
	if size == 0 {
		return ""
	}
	start := r.room(size)
	if size == len(text) {
		r.texts.Write(text)
	} else {
		var buf [512]byte
		r.texts.Write(appendExpanded(buf[:0], text, ""))
	}
	return r.texts.String()[start:]
}

// Key reads a text that [Writer.Key] wrote.
func (r *Reader) Key() string {
	r.key = r.Text()
	return r.key
}

// Raw reads a value. It shares no memory with the bytes.
func (r *Reader) Raw() []byte { return r.Long(nil) }

// Long reads a value that known may know by its short text, which it must not keep.
func (r *Reader) Long(known func(short []byte) []byte) []byte {
	text := r.text()
	if len(text) > 0 && known != nil {
		if long := known(text); long != nil {
			return long
		}
	}
	size := r.size(text, r.key)
	if size == 0 {
		return nil
	}
	return appendExpanded(make([]byte, 0, size), text, r.key)
}

// text gives a text as it was written, nil where there is none.
func (r *Reader) text() (text []byte) {
	if !r.has() {
		return nil
	}
	end := bytes.IndexByte(r.b, endOfText)
	if end <= 0 { // it would have been left out
		r.failed = true
		return nil
	}
	text, r.b = r.b[:end], r.b[end+1:]
	return text
}

// size is the length of a text, 0 where there is none.
func (r *Reader) size(text []byte, key string) int {
	if len(text) == 0 {
		return 0
	}
	size := expandedLen(text, key)
	if size <= 0 {
		r.failed = true
		return 0
	}
	return size
}

// room returns where the next text begins.
func (r *Reader) room(size int) int {
	if r.texts.Len() == 0 {
		r.texts.Grow(size + len(r.b))
	}
	return r.texts.Len()
}

// Token reads an identifier.
func (r *Reader) Token() string {
	if !r.has() {
		return ""
	}
	v := r.token()
	r.failed = r.failed || v == ""
	return v
}

func (r *Reader) token() string {
	head := r.uvarint()
	spelling, size := head&3, head>>2
	if size == 0 || size > 2*uint64(len(r.b)) {
		r.failed = true
		return ""
	}
	n := int(size) // of its characters
	taken := n
	switch spelling {
	case hexToken:
		n *= 2
	case sixBitToken:
		taken = sixBitLen(n)
	}
	if taken > len(r.b) || spelling > sixBitToken {
		r.failed = true
		return ""
	}
	v := r.b[:taken]
	r.b = r.b[taken:]
	start := r.room(n)
	var text [128]byte
	switch spelling {
	case hexToken:
		for len(v) > 0 {
			some := v[:min(len(v), len(text)/2)]
			v = v[len(some):]
			r.texts.Write(text[:hex.Encode(text[:], some)])
		}
	case sixBitToken:
		if spare := 8*taken - 6*n; v[taken-1]&(1<<spare-1) != 0 {
			r.failed = true
			return ""
		}
		for n > 0 { // four characters of three bytes each, and zeros behind the last
			var some [len(text) / 4 * 3]byte
			v = v[copy(some[:], v):]
			m := min(n, len(text))
			base64.RawURLEncoding.Encode(text[:], some[:(m+3)/4*3])
			r.texts.Write(text[:m])
			n -= m
		}
	default:
		r.texts.Write(v)
	}
	return r.texts.String()[start:]
}

// ReadWord reads what [Word] wrote.
func ReadWord[S ~string](r *Reader, known []S) S {
	switch i := int(r.byte()); {
	case r.failed:
	case i == 0:
		return S(r.token())
	case i <= len(known):
		return known[i-1]
	}
	r.failed = true
	return ""
}

// Number reads a number.
func (r *Reader) Number() int {
	if !r.has() {
		return 0
	}
	v := r.uvarint()
	if v == 0 || v > 1<<31 {
		r.failed = true
		return 0
	}
	return int(v)
}

// Flag reads a flag.
func (r *Reader) Flag() bool { return r.has() }

// Time reads milliseconds.
func (r *Reader) Time() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.failed = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// List reads how many objects follow.
func (r *Reader) List() int {
	if !r.has() {
		return 0
	}
	n := r.uvarint()
	if n == 0 || n > uint64(len(r.b)) { // each has a byte at least
		r.failed = true
		return 0
	}
	r.outer = r.inner
	return int(n)
}

// Object starts an object of a list.
func (r *Reader) Object(fields int) { r.open(fields) }

// EndObject ends an object of a list.
func (r *Reader) EndObject() { r.close() }

// EndList ends a list that has objects.
func (r *Reader) EndList() { r.inner, r.key = r.outer, "" }
