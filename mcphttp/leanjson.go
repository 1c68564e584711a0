package mcphttp

// This file reads JSON for leancall.go, and is deleted with lean.go.

import (
	"bytes"
	"strings"
)

// leanReader reads JSON from the front. It knows no exponents, no escapes in names,
// and no great depth: what it does not know it reports as false, as it does for what
// is no JSON, and everything after that is meaningless.
type leanReader struct {
	b     []byte
	i     int
	depth int
}

const maxDepth = 100 // go-sdk reads 1,000

// maxDigits is less than the digits of a number that is too large for a float64.
const maxDigits = 100

// peek returns the first byte of the next token, 0 at the end.
func (p *leanReader) peek() byte {
	for ; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// next is where the next token begins.
func (p *leanReader) next() int {
	p.peek()
	return p.i
}

func (p *leanReader) eat(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.i++
	return true
}

func (p *leanReader) end() bool { return p.next() == len(p.b) }

// object reads an object whose names are plain. member reads the value.
func (p *leanReader) object(member func(name []byte) bool) bool {
	if p.depth++; p.depth > maxDepth || !p.eat('{') {
		return false
	}
	if !p.eat('}') {
		for {
			name, ok := p.plain()
			if !ok || !p.eat(':') || !member(name) {
				return false
			}
			if p.eat('}') {
				break
			}
			if !p.eat(',') {
				return false
			}
		}
	}
	p.depth--
	return true
}

func (p *leanReader) array() bool {
	if p.depth++; p.depth > maxDepth || !p.eat('[') {
		return false
	}
	if !p.eat(']') {
		for {
			if !p.value() {
				return false
			}
			if p.eat(']') {
				break
			}
			if !p.eat(',') {
				return false
			}
		}
	}
	p.depth--
	return true
}

func (p *leanReader) value() bool {
	switch c := p.peek(); c {
	case '{':
		return p.object(func([]byte) bool { return p.value() })
	case '[':
		return p.array()
	case '"':
		return p.text()
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.number()
	}
}

func (p *leanReader) word(w string) bool {
	if !bytes.HasPrefix(p.b[p.i:], []byte(w)) {
		return false
	}
	p.i += len(w)
	return true
}

func (p *leanReader) number() bool {
	start := p.next()
	if p.i < len(p.b) && p.b[p.i] == '-' {
		p.i++
	}
	zero := p.i < len(p.b) && p.b[p.i] == '0'
	if n := p.digits(); n == 0 || zero && n > 1 {
		return false
	}
	if p.i < len(p.b) && p.b[p.i] == '.' {
		p.i++
		if p.digits() == 0 {
			return false
		}
	}
	return p.i-start <= maxDigits
}

func (p *leanReader) digits() int {
	start := p.i
	for p.i < len(p.b) && p.b[p.i] >= '0' && p.b[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}

// plain reads a string of printable ASCII without escapes, which everything spells
// alike.
func (p *leanReader) plain() ([]byte, bool) {
	if !p.eat('"') {
		return nil, false
	}
	for start := p.i; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return p.b[start : p.i-1], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// is reads a plain string that says s.
func (p *leanReader) is(s string) bool {
	text, ok := p.plain()
	return ok && string(text) == s
}

// text reads any string.
func (p *leanReader) text() bool {
	if !p.eat('"') {
		return false
	}
	for p.i < len(p.b) {
		c := p.b[p.i]
		p.i++
		switch {
		case c == '"':
			return true
		case c < ' ':
			return false
		case c == '\\' && !p.escape():
			return false
		}
	}
	return false
}

// escape reads the rest of an escape.
func (p *leanReader) escape() bool {
	if p.i == len(p.b) {
		return false
	}
	c := p.b[p.i]
	p.i++
	if c != 'u' {
		return strings.IndexByte(`"\/bfnrt`, c) >= 0
	}
	if len(p.b)-p.i < 4 {
		return false
	}
	for range 4 {
		if strings.IndexByte("0123456789abcdefABCDEF", p.b[p.i]) < 0 {
			return false
		}
		p.i++
	}
	return true
}
