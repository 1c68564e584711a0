package statecodec

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

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
