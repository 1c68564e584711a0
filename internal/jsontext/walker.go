package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Walker goes through JSON text from the front, once and without decoding it, and
// checks the grammar of everything it passes. Its loops range over the members of an
// object in their order, and over the elements of an array:
//
//	w := jsontext.Walk(text, depth)
//	for name := range w.Members {
//		switch string(name) {
//		case "id":
//			id = w.Value()
//		case "tags":
//			for range w.Elements {
//				tags = append(tags, w.Value())
//			}
//		}
//	}
//	if !w.End() {
//		return errSyntax
//	}
//
// A value that the loop's body leaves alone is skipped. A name that occurs twice comes
// twice. encoding/json has no such walk: into a struct it matches names in any case,
// into a map it keeps the last of two members, and its tokens allocate.
//
// A Walker stops for good at text that is not JSON, at a value of another kind than
// the one asked for, below its depth, and in a loop that is left early. Its loops end
// then, its values are nil, and End is false.
type Walker struct {
	text   []byte
	at     int
	depth  int  // levels that may still open
	unread bool // nothing has read the value of the current member or element
	plain  bool // see Plain
	failed bool
}

// Walk starts in front of text, which is not copied. An object or array inside depth
// others is not entered; encoding/json allows [MaxDepth].
func Walk(text []byte, depth int) *Walker { return &Walker{text: text, depth: depth} }

// Plain has the Walker also stop at text that two readers of JSON may understand
// differently, or that one of them refuses: a name that is not printable ASCII or has
// an escape, a number that has an exponent or more than 100 digits.
func (w *Walker) Plain() *Walker {
	w.plain = true
	return w
}

const maxPlainNumber = 100 // then it is within a float64's range

// MaxDepth is the depth of the deepest value that encoding/json reads.
const MaxDepth = 10_000

// Kind returns the first byte of the next value, which gives away its kind, or 0 if
// there is none.
func (w *Walker) Kind() byte {
	for ; w.at < len(w.text) && !w.failed; w.at++ {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// Offset returns where the next value begins in the text.
func (w *Walker) Offset() int {
	w.Kind()
	return w.at
}

// Since returns the text from an offset to the end of what was read. It shares memory with
// the text.
func (w *Walker) Since(offset int) []byte { return w.text[offset:w.at:w.at] }

// End reports whether the Walker has read all of the text.
func (w *Walker) End() bool {
	return w.Kind() == 0 && w.at == len(w.text) && !w.failed
}

// Members ranges over the names of an object. A name is decoded, and may share memory
// with the text.
func (w *Walker) Members(yield func(name []byte) bool) {
	for more := w.open('{', '}'); more; more = w.next('}') {
		name := w.string()
		if w.plain && !w.failed && !IsPlain(name[1:len(name)-1]) {
			w.failed = true
		}
		if !w.eat(':') {
			return
		}
		w.unread = true
		if yield != nil && !yield(unquote(name)) {
			w.failed = true
			return
		}
		if w.unread {
			w.skip()
		}
	}
}

// Elements ranges over the indices of an array.
func (w *Walker) Elements(yield func(i int) bool) {
	i := 0
	for more := w.open('[', ']'); more; more = w.next(']') {
		w.unread = true
		if yield != nil && !yield(i) {
			w.failed = true
			return
		}
		if w.unread {
			w.skip()
		}
		i++
	}
}

// Value reads a value of any kind, and returns it as it is written. It shares memory
// with the text.
func (w *Walker) Value() []byte {
	start := w.Offset()
	if w.skip(); w.failed {
		return nil
	}
	return w.text[start:w.at:w.at]
}

// Text reads a string and returns it decoded. It may share memory with the text.
func (w *Walker) Text() []byte {
	quoted := w.string()
	if w.failed {
		return nil
	}
	return unquote(quoted)
}

// Decode reads a value of any kind as json.Unmarshal reads it into an any: of two
// members with one name the last counts, and a number must fit a float64.
func (w *Walker) Decode() any {
	switch w.Kind() {
	case '{':
		object := map[string]any{}
		for name := range w.Members {
			object[string(name)] = w.Decode()
		}
		return object
	case '[':
		list := []any{}
		for range w.Elements {
			list = append(list, w.Decode())
		}
		return list
	case '"':
		return string(w.Text())
	case 't', 'f':
		return string(w.Value()) == "true"
	case 'n':
		w.Value()
		return nil
	}
	number, err := strconv.ParseFloat(string(w.Value()), 64)
	w.failed = w.failed || err != nil
	return number
}

// Repeated reads a value of any kind, and reports whether a name occurs twice in one
// object, at any depth. It reads no further than the second one.
func (w *Walker) Repeated() (name []byte, found bool) {
	switch w.Kind() {
	case '{':
		var names NameSet
		for name := range w.Members {
			if !names.Add(name) {
				return name, true
			}
			if name, found := w.Repeated(); found {
				return name, true
			}
		}
	case '[':
		for range w.Elements {
			if name, found := w.Repeated(); found {
				return name, true
			}
		}
	default:
		w.skip()
	}
	return nil, false
}

// A NameSet holds the names of an object. Most objects have few, which are compared
// without allocating.
type NameSet struct {
	few  [8][]byte
	n    int // names in few
	many map[string]struct{}
}

// Add reports false if the set has the name already.
func (s *NameSet) Add(name []byte) bool {
	for _, other := range s.few[:s.n] {
		if bytes.Equal(other, name) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	if _, ok := s.many[string(name)]; ok {
		return false
	}
	if s.many == nil {
		s.many = map[string]struct{}{}
	}
	s.many[string(name)] = struct{}{}
	return true
}

// open steps into an object or array, and reports whether anything is in it.
func (w *Walker) open(begin, end byte) bool {
	if !w.eat(begin) {
		return false
	}
	w.unread = false
	if w.depth--; w.depth < 0 {
		w.failed = true
		return false
	}
	if w.Kind() != end {
		return true
	}
	w.at++
	w.depth++
	return false
}

// next steps over the comma before another member or element, or over the end.
func (w *Walker) next(end byte) bool {
	if w.Kind() == ',' {
		w.at++
		return true
	}
	if w.eat(end) {
		w.depth++
	}
	return false
}

// eat steps over a byte, which must be the next one after white space.
func (w *Walker) eat(c byte) bool {
	if w.Kind() != c {
		w.failed = true
		return false
	}
	w.at++
	return true
}

func (w *Walker) skip() {
	switch w.unread = false; w.Kind() {
	case '{':
		w.Members(nil)
	case '[':
		w.Elements(nil)
	case '"':
		w.string()
	case 't':
		w.word("true")
	case 'f':
		w.word("false")
	case 'n':
		w.word("null")
	default:
		w.number()
	}
}

func (w *Walker) word(word string) {
	if !strings.HasPrefix(string(w.text[w.at:min(len(w.text), w.at+len(word))]), word) {
		w.failed = true
		return
	}
	w.at += len(word)
}

func (w *Walker) number() {
	start := w.at
	w.take("-")
	if !w.take("0") {
		w.digits()
	}
	if w.take(".") {
		w.digits()
	}
	if w.take("eE") {
		w.take("+-")
		w.digits()
		w.failed = w.failed || w.plain
	}
	w.failed = w.failed || w.plain && w.at-start > maxPlainNumber
}

// take steps over one byte if it is one of these.
func (w *Walker) take(any string) bool {
	if w.at == len(w.text) || strings.IndexByte(any, w.text[w.at]) < 0 {
		return false
	}
	w.at++
	return true
}

// digits reads at least one.
func (w *Walker) digits() {
	start := w.at
	for w.at < len(w.text) && '0' <= w.text[w.at] && w.text[w.at] <= '9' {
		w.at++
	}
	w.failed = w.failed || w.at == start
}

// string reads a string, and returns it with its quotes.
func (w *Walker) string() []byte {
	w.unread = false
	if !w.eat('"') {
		return nil
	}
	for start, i := w.at-1, w.at; ; i++ {
		if i += plainPrefix(w.text[i:]); i == len(w.text) {
			break
		}
		switch c := w.text[i]; {
		case c == '"':
			w.at = i + 1
			return w.text[start:w.at:w.at]
		case c == '\\':
			if w.at = i + 1; !w.escape() {
				w.failed = true
				return nil
			}
			i = w.at - 1
		case c < ' ':
			w.failed = true
			return nil
		}
	}
	w.failed = true
	return nil
}

// escape reads the rest of an escape.
func (w *Walker) escape() bool {
	if !w.take("u") {
		return w.take(`"\/bfnrt`)
	}
	for range 4 {
		if !w.take("0123456789abcdefABCDEF") {
			return false
		}
	}
	return true
}

// unquote decodes a JSON string, without copying plain text.
func unquote(quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	if IsPlain(text) || bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return text
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // it is a string, so this cannot fail
	return []byte(s)
}
