// Package plaintext makes text safe to show to a person. A character that steers what
// shows the text, or reorders its neighbors, is spelled out: U+202E becomes \u202e. In a
// quotation a backslash gets another one, so that two texts that differ stay different.
package plaintext

import (
	"strconv"
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
// characters, spaces in a row, blanks that are no space, and combining marks without end. A
// quote or backslash in the text gets a backslash, so that the text cannot end its own
// quotation. What exceeds the given number of characters is cut off, with an ellipsis behind
// the closing quote.
func Quote(s string, most int) string {
	shown, rest := beginning(s, most)
	if rest != "" {
		return `"` + shown + `"…`
	}
	return `"` + shown + `"`
}

// Ends is a text as it stands in a quotation of [Quote], without the quotes. One that is too
// long is cut in its middle, so that padding hides neither end, and the note says how long it is.
func Ends(s string, most int) (shown, note string) {
	head, rest := beginning(s, most)
	if rest == "" {
		return head, ""
	}
	head, rest = beginning(s, most*2/3)
	tail, room, last := "", most/3, rune(0)
	for rest != "" {
		r, size := utf8.DecodeLastRuneInString(rest)
		shown := piece(r, last, maxMarks) // no mark may stand on what was cut
		if room -= utf8.RuneCountInString(shown); room < 0 {
			break
		}
		tail, rest, last = shown+tail, rest[:len(rest)-size], r
	}
	return head + " … " + tail, " (cut: " + strconv.Itoa(utf8.RuneCountInString(s)) + " characters)"
}

// beginning is as much of a text as there is room for, and the rest of the text.
func beginning(s string, room int) (shown, rest string) {
	b := make([]byte, 0, min(len(s), 4*room))
	marks, last := maxMarks, rune(0) // the first character has none to combine with
	for i, r := range s {
		text := piece(r, last, marks)
		if room -= utf8.RuneCountInString(text); room < 0 {
			return string(b), s[i:]
		}
		if !unicode.Is(unicode.M, r) {
			marks = 0
		} else if len(text) == utf8.RuneLen(r) {
			marks++
		}
		b, last = append(b, text...), r
	}
	return string(b), ""
}

// piece is a character of a quotation, beside another one and behind so many marks.
func piece(r, beside rune, marks int) string {
	switch {
	case !visible(r), unicode.Is(unicode.M, r) && marks >= maxMarks, unicode.Is(unicode.Zs, r) && unicode.Is(unicode.Zs, beside):
		return string(spell(nil, r))
	case r == '"' || r == '\\':
		return `\` + string(r)
	}
	return string(r)
}

// visible reports whether a character can be seen, or is a space that people type.
func visible(r rune) bool {
	switch r {
	case ' ', '\u3000':
		return true
	case '\u2800': // a blank of Braille
		return false
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
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
