package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The functions here find where things stand in JSON that is known to be valid.
// encoding/json has done the judging by then; what it cannot do is to say which
// bytes a nested value was read from, and those are what is written back.

// span is the half-open range of a value in the bytes that hold it.
type span struct{ start, end int }

func (s span) of(src []byte) []byte { return src[s.start:s.end] }

// within returns the same range counted from another start.
func (s span) within(start int) span { return span{s.start - start, s.end - start} }

type member struct {
	key   string
	keyAt int
	value span
}

// members returns the members of the object that starts at at.
func members(src []byte, at int) []member {
	var out []member
	for i := skipSpace(src, at+1); src[i] != '}'; {
		key := span{i, skipValue(src, i)}
		i = skipSpace(src, skipSpace(src, key.end)+1) // past the colon
		value := span{i, skipValue(src, i)}
		out = append(out, member{key: unquote(key.of(src)), keyAt: key.start, value: value})
		i = skipComma(src, value.end)
	}
	return out
}

// elements returns the elements of the array that starts at at.
func elements(src []byte, at int) []span {
	var out []span
	for i := skipSpace(src, at+1); src[i] != ']'; {
		element := span{i, skipValue(src, i)}
		out = append(out, element)
		i = skipComma(src, element.end)
	}
	return out
}

// layoutOf returns the layout of an array: what stands before its first element
// is taken to stand between the others too.
func layoutOf(src []byte, array span, elements []span) layout {
	if len(elements) == 0 {
		return compact
	}
	open := src[array.start:elements[0].start]
	return layout{
		open:      open,
		separator: slices.Concat([]byte(","), open[1:]),
		close:     src[elements[len(elements)-1].end:array.end],
	}
}

func skipSpace(src []byte, i int) int {
	for i < len(src) && bytes.IndexByte([]byte(" \t\r\n"), src[i]) >= 0 {
		i++
	}
	return i
}

// skipComma returns the start of the next element or member, or the position of
// the closing bracket.
func skipComma(src []byte, i int) int {
	i = skipSpace(src, i)
	if src[i] == ',' {
		i = skipSpace(src, i+1)
	}
	return i
}

// skipValue returns the end of the value that starts at i.
func skipValue(src []byte, i int) int {
	depth := 0
	for ; i < len(src); i++ {
		switch src[i] {
		case '"':
			i = stringEnd(src, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
			if depth < 0 { // a number or a literal, ended by its container
				return i
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// stringEnd returns the position of the quote that ends the string at i.
func stringEnd(src []byte, i int) int {
	for i++; src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i
}

// unquote decodes a JSON string that is known to be one.
func unquote(quoted []byte) string {
	var s string
	_ = json.Unmarshal(quoted, &s) // cannot fail on a valid string
	return s
}

// quote encodes a string.
func quote(s string) []byte {
	quoted, _ := json.Marshal(s) // cannot fail on a string
	return quoted
}
