package statecodec

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds the recursion, and with it how often a member is moved while
// the objects around it are put in order.
const maxDepth = 128

var (
	errSyntax    = errors.New("they are not one JSON value")
	errDuplicate = errors.New("an object has the same name twice")
	errCase      = errors.New("an object has two names that differ in case only")
	errDepth     = errors.New("they are nested too deep")
	errText      = errors.New("a string is not valid Unicode")
	errExponent  = errors.New("a number has an exponent of more than nine digits")
)

// canonicalizer appends one JSON value to out in canonical form while it reads
// it. Runs of bytes that are canonical already, as in most arguments, are copied.
//
// encoding/json cannot take its place: it rounds numbers, accepts a name given
// twice and half a surrogate pair, and allocates for every value.
type canonicalizer struct {
	raw     []byte
	at      int
	out     []byte
	members []member // of all the objects that are open, innermost last
	spare   []byte
}

// member is the range of an object's member in out. The name is without quotes.
type member struct{ start, nameEnd, end int }

// CheckArguments returns an error that wraps [ErrArguments] if no token can be bound
// to these arguments. Seal returns the same error, but only after the caller may
// have acted on the arguments.
func CheckArguments(raw []byte) error {
	w := checks.Get().(*scratch)
	defer checks.Put(w)
	w.buf = w.buf[:0]
	if err := w.appendArguments(raw); err != nil {
		return misuse("%v: %w", err, ErrArguments)
	}
	return nil
}

var checks = sync.Pool{New: func() any { return new(scratch) }}

func (w *scratch) appendArguments(raw []byte) error {
	if len(raw) == 0 {
		w.buf = append(w.buf, '{', '}')
		return nil
	}
	c := canonicalizer{raw: raw, out: w.buf, members: w.members[:0], spare: w.spare}
	err := c.value(0)
	if err == nil {
		if c.space(); c.at != len(raw) {
			err = errSyntax
		}
	}
	w.buf, w.members, w.spare = c.out, c.members, c.spare
	return err
}

func (c *canonicalizer) value(depth int) error {
	c.space()
	switch c.peek() {
	case '{':
		return c.object(depth + 1)
	case '[':
		return c.array(depth + 1)
	case '"':
		return c.string()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.number()
}

func (c *canonicalizer) object(depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	c.skip('{')
	c.out = append(c.out, '{')
	base, start, ordered := len(c.members), len(c.out), true
	for c.space(); !c.skip('}'); c.space() {
		if len(c.members) > base {
			if !c.skip(',') {
				return errSyntax
			}
			c.out = append(c.out, ',')
			c.space()
		}
		m := member{start: len(c.out)}
		if c.peek() != '"' {
			return errSyntax
		}
		if err := c.string(); err != nil {
			return err
		}
		m.nameEnd = len(c.out) - 1
		if c.space(); !c.skip(':') {
			return errSyntax
		}
		c.out = append(c.out, ':')
		if err := c.value(depth); err != nil {
			return err
		}
		m.end = len(c.out)
		ordered = ordered && (len(c.members) == base || c.compare(c.members[len(c.members)-1], m) < 0)
		c.members = append(c.members, m)
	}
	if err := c.distinct(base); err != nil {
		return err
	}
	if !ordered {
		if err := c.order(c.members[base:], start); err != nil {
			return err
		}
	}
	c.members = c.members[:base]
	c.out = append(c.out, '}')
	return nil
}

func (c *canonicalizer) compare(a, b member) int { return bytes.Compare(c.name(a), c.name(b)) }

func (c *canonicalizer) name(m member) []byte { return c.out[m.start+1 : m.nameEnd] }

// order rewrites the members that lie in out from start on, sorted by name.
func (c *canonicalizer) order(members []member, start int) error {
	slices.SortFunc(members, c.compare)
	c.spare = c.spare[:0]
	for i, m := range members {
		if i > 0 {
			if c.compare(members[i-1], m) == 0 {
				return errDuplicate
			}
			c.spare = append(c.spare, ',')
		}
		c.spare = append(c.spare, c.out[m.start:m.end]...)
	}
	copy(c.out[start:], c.spare)
	return nil
}

func (c *canonicalizer) array(depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	c.skip('[')
	c.out = append(c.out, '[')
	first := true
	for c.space(); !c.skip(']'); c.space() {
		if !first {
			if !c.skip(',') {
				return errSyntax
			}
			c.out = append(c.out, ',')
		}
		first = false
		if err := c.value(depth); err != nil {
			return err
		}
	}
	c.out = append(c.out, ']')
	return nil
}

func (c *canonicalizer) literal(word string) error {
	if !bytes.HasPrefix(c.raw[c.at:], []byte(word)) {
		return errSyntax
	}
	c.at += len(word)
	c.out = append(c.out, word...)
	return nil
}

// peek returns the next byte, or 0 at the end, which begins nothing in JSON.
func (c *canonicalizer) peek() byte {
	if c.at < len(c.raw) {
		return c.raw[c.at]
	}
	return 0
}

func (c *canonicalizer) skip(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

func (c *canonicalizer) space() {
	for c.skip(' ') || c.skip('\t') || c.skip('\n') || c.skip('\r') {
	}
}

// distinct refuses an object with two names that differ in case only. Readers that
// ignore case, as encoding/json does, take them for one member, and which of the two
// values counts depends on their order, which the canonical form does not keep.
//
// Few objects have a name that another spelling could be equal to. The members of
// those are sorted, in a copy of their list, so that a long object costs no more
// than a sort.
func (c *canonicalizer) distinct(base int) error {
	end := len(c.members)
	if end-base < 2 || !slices.ContainsFunc(c.members[base:end], c.hasCase) {
		return nil
	}
	c.members = append(c.members, c.members[base:end]...)
	sorted := c.members[end:]
	slices.SortFunc(sorted, c.compareFolded)
	for i := range sorted[1:] {
		if c.compareFolded(sorted[i], sorted[i+1]) == 0 {
			return errCase
		}
	}
	c.members = c.members[:end]
	return nil
}

// hasCase reports whether a name has a character other than ASCII in lower case. Two
// names that have none are equal only if they are the same.
func (c *canonicalizer) hasCase(m member) bool {
	for _, b := range c.name(m) {
		if b >= utf8.RuneSelf || 'A' <= b && b <= 'Z' {
			return true
		}
	}
	return false
}

func (c *canonicalizer) compareFolded(x, y member) int {
	a, b := c.name(x), c.name(y)
	for len(a) > 0 && len(b) > 0 {
		r, size := utf8.DecodeRune(a)
		s, other := utf8.DecodeRune(b)
		if order := cmp.Compare(fold(r), fold(s)); order != 0 {
			return order
		}
		a, b = a[size:], b[other:]
	}
	return cmp.Compare(len(a), len(b))
}

// fold is the least of the characters that are equal to r but for their case.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
