// Package plaintext makes text safe to show to a person. A character that steers what
// shows the text, or reorders its neighbors, is spelled out: U+202E becomes \u202e.
// Spelled out it is visible, and two texts that differ stay different.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text spells out control characters, except line feeds and tabs, and bidirectional
// embeddings, overrides and isolates. A carriage return in front of a line feed is left
// out, and bytes that are not UTF-8 become U+FFFD. All other text is returned as it is,
// without an allocation. That includes right-to-left letters and marks, and the joiners
// that emoji and several scripts need.
func Text(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	first := strings.IndexFunc(s, Steers)
	if first < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:first]...)
	for i, r := range s[first:] {
		switch {
		case r == '\r' && strings.HasPrefix(s[first+i:], "\r\n"):
		case Steers(r):
			b = spell(b, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// Steers reports whether [Text] spells a character out.
func Steers(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	}
	return r <= 0x9f || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// maxMarks is how many combining marks one character keeps. Scripts stack up to three or
// four; more of them cover the lines above and below.
const maxMarks = 4

// Quote puts text between double quotes, on one line. It spells out everything that
// cannot be seen: what [Text] does, and line breaks, tabs, zero-width and unassigned
// characters, and combining marks without end. A quote or backslash in the text gets a
// backslash, so that the text cannot end its own quotation. What exceeds the given
// number of characters is cut off, with an ellipsis behind the closing quote.
func Quote(s string, most int) string {
	b := append(make([]byte, 0, min(len(s), 4*most)+8), '"')
	marks, left := maxMarks, most // the first character has none to combine with
	for _, r := range s {
		at := len(b)
		switch mark := unicode.Is(unicode.M, r); {
		case mark && marks >= maxMarks, !visible(r):
			b = spell(b, r)
		case mark:
			marks++
			b = utf8.AppendRune(b, r)
		default:
			marks = 0
			if r == '"' || r == '\\' {
				b = append(b, '\\')
			}
			b = utf8.AppendRune(b, r)
		}
		if left -= utf8.RuneCount(b[at:]); left < 0 {
			return string(append(b[:at], `"…`...))
		}
	}
	return string(append(b, '"'))
}

// visible reports whether a character can be seen, or is a space of some width.
func visible(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// spell appends a character as Go, JSON and JavaScript programs write it.
func spell(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	digits := 4
	b = append(b, '\\', 'u')
	if r > 0xffff {
		b[len(b)-1], digits = 'U', 8
	}
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hex[r>>shift&15])
	}
	return b
}
