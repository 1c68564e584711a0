package jsontext

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Reader reads an object that a [Writer] wrote, asking for its members in the
// order in which they were written; a member that is not next was left out. It
// accepts the one spelling that the Writer has for each value, except inside raw
// values. After a mismatch [Reader.End] is false, and no value counts.
type Reader struct {
	b      []byte
	failed bool
}

// Open starts to read an object, with its first member.
func Open(b []byte, name string) (r Reader, v int) {
	r.b = b
	if r.literal(`{"`) && r.literal(name) && r.literal(`":`) {
		v = r.integer()
	}
	return r, v
}

// End reports whether the object, and the bytes, end here.
func (r *Reader) End() bool { return r.literal("}") && len(r.b) == 0 }

func (r *Reader) Text(name string) string {
	if !r.member(name) {
		return ""
	}
	s := r.string()
	r.failed = r.failed || s == "" // it would have been left out
	return s
}

func (r *Reader) Number(name string) int {
	if !r.member(name) {
		return 0
	}
	return r.integer()
}

func (r *Reader) Flag(name string) bool { return r.member(name) && r.literal("true") }

// Raw gives a value as it was written. It shares memory with the bytes.
func (r *Reader) Raw(name string) json.RawMessage {
	if !r.member(name) {
		return nil
	}
	end := SkipValue(r.b)
	if end <= 0 {
		r.failed = true
		return nil
	}
	v := json.RawMessage(r.b[:end:end])
	r.b = r.b[end:]
	return v
}

// List reports whether there is a list of this name, and steps into it.
func (r *Reader) List(name string) bool { return r.member(name) && r.literal("[") }

// Object steps into the i-th object of a list, or over the list's end. A list
// that is there is not empty.
func (r *Reader) Object(i int) bool {
	switch {
	case r.failed || len(r.b) == 0:
		r.failed = true
		return false
	case i == 0:
		return r.literal("{")
	case r.b[0] == ']':
		r.b = r.b[1:]
		return false
	}
	return r.literal(",{")
}

// First reads the first member of a list's object.
func (r *Reader) First(name string) string {
	if !r.literal(`"`) || !r.literal(name) || !r.literal(`":`) {
		return ""
	}
	return r.string()
}

func (r *Reader) EndObject() { r.literal("}") }

func (r *Reader) literal(s string) bool {
	if r.failed || len(r.b) < len(s) || string(r.b[:len(s)]) != s {
		r.failed = true
		return false
	}
	r.b = r.b[len(s):]
	return true
}

// member reports whether the next member is this one, and steps to its value.
func (r *Reader) member(name string) bool {
	n := len(name) + 4
	if r.failed || len(r.b) < n || r.b[0] != ',' || r.b[1] != '"' || string(r.b[2:n-2]) != name || r.b[n-2] != '"' || r.b[n-1] != ':' {
		return false
	}
	r.b = r.b[n:]
	return true
}

// integer reads a positive number: zero would have been left out, and a Writer
// is given no negative one.
func (r *Reader) integer() int {
	n := 0
	for n < len(r.b) && r.b[n] >= '0' && r.b[n] <= '9' {
		n++
	}
	v, err := strconv.Atoi(string(r.b[:n]))
	if err != nil || r.b[0] == '0' {
		r.failed = true
	}
	r.b = r.b[n:]
	return v
}

func (r *Reader) string() string {
	end := SkipString(r.b)
	if r.failed || end < 0 {
		r.failed = true
		return ""
	}
	quoted := r.b[:end]
	r.b = r.b[end:]
	for _, c := range quoted {
		if c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return r.unescape(quoted)
		}
	}
	return string(quoted[1 : end-1])
}

// unescape reads a string that is not plain, in the Writer's spelling.
func (r *Reader) unescape(quoted []byte) (s string) {
	if json.Unmarshal(quoted, &s) != nil || string(AppendString(nil, s)) != string(quoted) {
		r.failed = true
	}
	return s
}
