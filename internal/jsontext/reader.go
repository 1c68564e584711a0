package jsontext

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Reader reads an object that a [Writer] wrote, asking for its members in the
// order in which they were written; a member that is not next was left out. It
// accepts the one spelling that the Writer has for each value, except inside raw
// values. After a mismatch [Reader.End] is false, and no value counts.
//
// It copies the bytes once. Texts are parts of that copy, and raw values have memory of
// their own, which may be changed.
type Reader struct {
	w    Walker // over the bytes
	copy string // of them
}

// Open starts to read an object, with its first member.
func Open(b []byte, name string) (r Reader, v int) {
	r.w, r.copy = Walker{text: b, depth: MaxDepth}, string(b)
	if r.literal(`{"`) && r.literal(name) && r.literal(`":`) {
		v = r.integer()
	}
	return r, v
}

// End reports whether the object, and the bytes, end here.
func (r *Reader) End() bool { return r.literal("}") && r.w.at == len(r.copy) }

func (r *Reader) Text(name string) string {
	if !r.member(name) {
		return ""
	}
	s := r.string()
	r.w.failed = r.w.failed || s == "" // it would have been left out
	return s
}

func (r *Reader) Number(name string) int {
	if !r.member(name) {
		return 0
	}
	return r.integer()
}

func (r *Reader) Flag(name string) bool { return r.member(name) && r.literal("true") }

// Raw gives a value as it was written, nil where there is none.
func (r *Reader) Raw(name string) json.RawMessage {
	if v := r.RawText(name); v != "" {
		return json.RawMessage(v)
	}
	return nil
}

// RawText is Raw for a value that is not kept.
func (r *Reader) RawText(name string) string {
	if !r.member(name) {
		return ""
	}
	start := r.w.at
	if r.w.skip(); r.w.failed {
		return ""
	}
	return r.copy[start:r.w.at]
}

// List reports whether there is a list of this name, and steps into it.
func (r *Reader) List(name string) bool { return r.member(name) && r.literal("[") }

// Object steps into the i-th object of a list, or over the list's end. A list
// that is there is not empty.
func (r *Reader) Object(i int) bool {
	switch {
	case i == 0:
		return r.literal("{")
	case r.w.take("]"):
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

// literal steps over text that must come next.
func (r *Reader) literal(s string) bool {
	if r.w.failed || !strings.HasPrefix(r.copy[r.w.at:], s) {
		r.w.failed = true
		return false
	}
	r.w.at += len(s)
	return true
}

// member reports whether the next member is this one, and steps to its value.
func (r *Reader) member(name string) bool {
	s, n := r.copy[r.w.at:], len(name)+4
	if r.w.failed || len(s) < n || s[:2] != `,"` || s[2:n-2] != name || s[n-2:n] != `":` {
		return false
	}
	r.w.at += n
	return true
}

// integer reads a positive number: zero would have been left out, and a Writer
// is given no negative one.
func (r *Reader) integer() int {
	start := r.w.at
	r.w.digits()
	v, err := strconv.Atoi(r.copy[start:r.w.at])
	r.w.failed = r.w.failed || err != nil || r.copy[start] == '0'
	return v
}

func (r *Reader) string() string {
	start := r.w.at
	quoted := r.w.string()
	if r.w.failed {
		return ""
	}
	text := r.copy[start+1 : r.w.at-1]
	if IsPlain(text) {
		return text
	}
	text = string(unquote(quoted))
	r.w.failed = string(AppendString(nil, text)) != r.copy[start:r.w.at]
	return text
}
