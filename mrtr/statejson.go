package mrtr

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// fieldWriter appends the members of a JSON object in a fixed order, leaving
// out the empty ones.
type fieldWriter struct{ b []byte }

func (w *fieldWriter) name(name string) {
	w.b = append(w.b, ',', '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *fieldWriter) text(name, v string) {
	if v != "" {
		w.name(name)
		w.b = appendString(w.b, v)
	}
}

func (w *fieldWriter) number(name string, v int) {
	if v != 0 {
		w.name(name)
		w.b = appendInt(w.b, v)
	}
}

func (w *fieldWriter) flag(name string, v bool) {
	if v {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *fieldWriter) raw(name string, v json.RawMessage) {
	if len(v) > 0 {
		w.name(name)
		w.b = append(w.b, v...)
	}
}

func (w *fieldWriter) open(name string) {
	w.name(name)
	w.b = append(w.b, '[')
}

// element begins an object in a list, with its first member.
func (w *fieldWriter) element(i int, name, v string) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '{', '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
	w.b = appendString(w.b, v)
}

func appendInt(b []byte, v int) []byte { return strconv.AppendInt(b, int64(v), 10) }

// appendString writes s as a JSON string. Bytes that are not UTF-8 become the
// replacement character, as in encoding/json.
func appendString(b []byte, s string) []byte {
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

// fieldReader reads back what fieldWriter wrote, in the same order. A member
// that is not next was left out. Once something does not fit, failed is set
// and nothing that was read counts.
type fieldReader struct {
	b      []byte
	failed bool
}

func (r *fieldReader) literal(s string) bool {
	if r.failed || len(r.b) < len(s) || string(r.b[:len(s)]) != s {
		r.failed = true
		return false
	}
	r.b = r.b[len(s):]
	return true
}

// member reports whether the next member is this one, and steps to its value.
func (r *fieldReader) member(name string) bool {
	n := len(name) + 4
	if r.failed || len(r.b) < n || r.b[0] != ',' || r.b[1] != '"' || string(r.b[2:n-2]) != name || r.b[n-2] != '"' || r.b[n-1] != ':' {
		return false
	}
	r.b = r.b[n:]
	return true
}

// text, number and raw refuse an empty value, which would have been left out.
func (r *fieldReader) text(name string) string {
	if !r.member(name) {
		return ""
	}
	s := r.string()
	r.failed = r.failed || s == ""
	return s
}

func (r *fieldReader) number(name string) int {
	if !r.member(name) {
		return 0
	}
	return r.integer()
}

func (r *fieldReader) flag(name string) bool { return r.member(name) && r.literal("true") }

func (r *fieldReader) raw(name string) json.RawMessage {
	if !r.member(name) {
		return nil
	}
	end := skipValue(r.b)
	if end <= 0 {
		r.failed = true
		return nil
	}
	v := json.RawMessage(r.b[:end:end])
	r.b = r.b[end:]
	return v
}

func (r *fieldReader) open(name string) bool { return r.member(name) && r.literal("[") }

// element steps into the i-th object of a list, or over the list's end. A list
// that is there is not empty.
func (r *fieldReader) element(i int) bool {
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

func (r *fieldReader) first(name string) string {
	if !r.literal(`"`) || !r.literal(name) || !r.literal(`":`) {
		return ""
	}
	return r.string()
}

// integer reads a positive number: none of the state's is ever another.
func (r *fieldReader) integer() int {
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

func (r *fieldReader) string() string {
	end := skipString(r.b)
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

// unescape reads a string that is not plain, and holds it to the one way in
// which it is written.
func (r *fieldReader) unescape(quoted []byte) (s string) {
	if json.Unmarshal(quoted, &s) != nil || string(appendString(nil, s)) != string(quoted) {
		r.failed = true
	}
	return s
}

// skipString returns where the string that b begins with ends, or -1.
func skipString(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipValue returns where the JSON value that b begins with ends, or -1.
func skipValue(b []byte) int {
	depth := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			n := skipString(b[i:])
			if n < 0 {
				return -1
			}
			i += n
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i // a bare value before it ended here
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}
