package statecodec

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

const maxExponent = 999_999_999

// plain are the bytes that a string can hold without an escape.
var plain = func() (table [256]bool) {
	for b := byte(0x20); b < utf8.RuneSelf; b++ {
		table[b] = b != '"' && b != '\\'
	}
	return table
}()

// string appends a string with the fewest escapes: \" and \\, and \u00xx for
// control characters. Everything else stands for itself.
func (c *canonicalizer) string() error {
	c.at++
	c.out = append(c.out, '"')
	for {
		start := c.at
		for c.at = c.plainEnd(c.at); c.peek() >= utf8.RuneSelf; c.at = c.plainEnd(c.at) {
			_, size := utf8.DecodeRune(c.raw[c.at:])
			if size == 1 {
				return errText
			}
			c.at += size
		}
		c.out = append(c.out, c.raw[start:c.at]...)
		switch {
		case c.skip('"'):
			c.out = append(c.out, '"')
			return nil
		case c.skip('\\'):
			if err := c.escape(); err != nil {
				return err
			}
		default:
			return errSyntax // the end of the text, or a bare control character
		}
	}
}

// plainEnd returns where the run of plain bytes from at on ends.
func (c *canonicalizer) plainEnd(at int) int {
	for at < len(c.raw) && plain[c.raw[at]] {
		at++
	}
	return at
}

// escape reads the rest of an escape after its backslash.
func (c *canonicalizer) escape() error {
	if c.skip('u') {
		return c.unicodeEscape()
	}
	short := strings.IndexByte(`"\/bfnrt`, c.peek())
	if short < 0 {
		return errSyntax
	}
	c.at++
	c.appendRune(rune("\"\\/\b\f\n\r\t"[short]))
	return nil
}

func (c *canonicalizer) unicodeEscape() error {
	r, err := c.hex4()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		if !c.skip('\\') || !c.skip('u') {
			return errText
		}
		low, err := c.hex4()
		if err != nil {
			return err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return errText
		}
	}
	c.appendRune(r)
	return nil
}

func (c *canonicalizer) hex4() (rune, error) {
	if len(c.raw)-c.at < 4 {
		return 0, errSyntax
	}
	v, err := strconv.ParseUint(string(c.raw[c.at:c.at+4]), 16, 16)
	if err != nil {
		return 0, errSyntax
	}
	c.at += 4
	return rune(v), nil
}

func (c *canonicalizer) appendRune(r rune) {
	switch {
	case r == '"' || r == '\\':
		c.out = append(c.out, '\\', byte(r))
	case r < 0x20:
		c.out = append(c.out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	default:
		c.out = utf8.AppendRune(c.out, r)
	}
}

// number appends a number as its significant digits, without zeros at either
// end, and the power of ten to multiply them by unless that is 0: 100 is 1e2,
// 0.50 is 5e-1, 42 is itself. No digit is lost however many there are.
func (c *canonicalizer) number() error {
	start := len(c.out)
	if c.skip('-') {
		c.out = append(c.out, '-')
	}
	digits := len(c.out)
	switch {
	case c.skip('0'):
	case !c.digits():
		return errSyntax
	}
	exponent := int64(0)
	if c.skip('.') {
		before := len(c.out)
		if !c.digits() {
			return errSyntax
		}
		exponent -= int64(len(c.out) - before)
	}
	if c.skip('e') || c.skip('E') {
		written, err := c.exponent()
		if err != nil {
			return err
		}
		exponent += written
	}
	end := len(c.out)
	for end > digits && c.out[end-1] == '0' {
		end--
		exponent++
	}
	first := digits
	for first < end && c.out[first] == '0' {
		first++
	}
	if first == end {
		c.out = append(c.out[:start], '0')
		return nil
	}
	c.out = append(c.out[:digits], c.out[first:end]...)
	if exponent > maxExponent || exponent < -maxExponent {
		return errExponent // or the canonical form would itself have none
	}
	if exponent != 0 {
		c.out = strconv.AppendInt(append(c.out, 'e'), exponent, 10)
	}
	return nil
}

// digits reports false if there is not one.
func (c *canonicalizer) digits() bool {
	start := c.at
	for isDigit(c.peek()) {
		c.at++
	}
	c.out = append(c.out, c.raw[start:c.at]...)
	return c.at > start
}

func (c *canonicalizer) exponent() (int64, error) {
	start := c.at
	if !c.skip('-') {
		c.skip('+')
	}
	if !isDigit(c.peek()) {
		return 0, errSyntax
	}
	for isDigit(c.peek()) {
		c.at++
	}
	v, err := strconv.ParseInt(string(c.raw[start:c.at]), 10, 64)
	if err != nil || v > maxExponent || v < -maxExponent {
		return 0, errExponent
	}
	return v, nil
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
