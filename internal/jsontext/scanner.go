package jsontext

import (
	"bytes"
	"strings"
)

// Scanner goes through JSON that anybody may have written, from the front, and
// decodes nothing. Its methods report false for text that is no JSON, and for text that is too
// unusual to be worth knowing here: names that are not plain, exponents, great depth.
// After that a Scanner is of no use, and the caller takes a decoder.
type Scanner struct {
	b     []byte
	i     int
	depth int
}

const (
	maxDepth  = 100
	maxDigits = 100 // of a number, which then is within a float64's range
)

// Scan starts in front of b, which is not copied.
func Scan(b []byte) *Scanner { return &Scanner{b: b} }

// Peek returns the first byte of the next token, 0 at the end.
func (s *Scanner) Peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// Raw gives a value as it is written, read by one of the other methods. It shares
// memory with the bytes.
func (s *Scanner) Raw(read func() bool) ([]byte, bool) {
	s.Peek()
	start := s.i
	ok := read()
	return s.b[start:s.i:s.i], ok
}

func (s *Scanner) eat(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.i++
	return true
}

// End reports whether nothing follows but white space.
func (s *Scanner) End() bool {
	s.Peek()
	return s.i == len(s.b)
}

// Object reads an object whose names are plain, see [Scanner.Plain]. member reads the
// value.
func (s *Scanner) Object(member func(name []byte) bool) bool {
	if s.depth++; s.depth > maxDepth || !s.eat('{') {
		return false
	}
	if !s.eat('}') {
		for {
			name, ok := s.Plain()
			if !ok || !s.eat(':') || !member(name) {
				return false
			}
			if s.eat('}') {
				break
			}
			if !s.eat(',') {
				return false
			}
		}
	}
	s.depth--
	return true
}

func (s *Scanner) array(element func() bool) bool {
	if s.depth++; s.depth > maxDepth || !s.eat('[') {
		return false
	}
	if !s.eat(']') {
		for {
			if !element() {
				return false
			}
			if s.eat(']') {
				break
			}
			if !s.eat(',') {
				return false
			}
		}
	}
	s.depth--
	return true
}

// Value reads a value of any kind.
func (s *Scanner) Value() bool {
	switch s.Peek() {
	case '{':
		return s.Object(func([]byte) bool { return s.Value() })
	case '[':
		return s.array(s.Value)
	case '"':
		return s.Text()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.Number()
	}
}

// maxNames is how many names an object may have for Single to compare them.
const maxNames = 16

// Single reads a value of any kind, as Value does, and reports false besides where a
// name stands twice in one object, at any depth, or an object has too many to tell.
func (s *Scanner) Single() bool {
	switch s.Peek() {
	case '{':
		var names Names
		return s.Object(func(name []byte) bool { return names.Add(name) && s.Single() })
	case '[':
		return s.array(s.Single)
	}
	return s.Value()
}

// Names are the names of an object of which none stands twice.
type Names struct {
	some [maxNames][]byte
	n    int
}

// Add reports false where the name is there already, or there are too many to tell.
func (n *Names) Add(name []byte) bool {
	for _, other := range n.some[:n.n] {
		if string(other) == string(name) {
			return false
		}
	}
	if n.n == maxNames {
		return false
	}
	n.some[n.n] = name
	n.n++
	return true
}

func (s *Scanner) word(w string) bool {
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return false
	}
	s.i += len(w)
	return true
}

// Number reads a number without an exponent.
func (s *Scanner) Number() bool {
	s.Peek()
	start := s.i
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	zero := s.i < len(s.b) && s.b[s.i] == '0'
	if n := s.digits(); n == 0 || zero && n > 1 {
		return false
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return false
		}
	}
	return s.i-start <= maxDigits
}

func (s *Scanner) digits() int {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i - start
}

// Plain reads a string of printable ASCII without escapes, which everything spells
// alike.
func (s *Scanner) Plain() ([]byte, bool) {
	if !s.eat('"') {
		return nil, false
	}
	for start := s.i; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// Is reads a plain string and reports whether it is this one.
func (s *Scanner) Is(plain string) bool {
	text, ok := s.Plain()
	return ok && string(text) == plain
}

// Text reads any string.
func (s *Scanner) Text() bool {
	if !s.eat('"') {
		return false
	}
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return true
		case c < ' ':
			return false
		case c == '\\' && !s.escape():
			return false
		}
	}
	return false
}

// escape reads the rest of an escape.
func (s *Scanner) escape() bool {
	if s.i == len(s.b) {
		return false
	}
	c := s.b[s.i]
	s.i++
	if c != 'u' {
		return strings.IndexByte(`"\/bfnrt`, c) >= 0
	}
	if len(s.b)-s.i < 4 {
		return false
	}
	for range 4 {
		if strings.IndexByte("0123456789abcdefABCDEF", s.b[s.i]) < 0 {
			return false
		}
		s.i++
	}
	return true
}
