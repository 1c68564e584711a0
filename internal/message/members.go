package message

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// members ranges over the names and values of a JSON object, in order and without
// copying; there are none if data is another value. The data must be valid JSON,
// which keeps the walk this simple. encoding/json has no such walk: into a struct
// it matches names in any case, and into a map it allocates for every member.
func members(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := skipSpace(data, 0)
		if data[i] != '{' {
			return
		}
		for {
			i = skipSpace(data, i+1) // past the brace or the comma
			if data[i] == '}' {
				return
			}
			nameEnd := valueEnd(data, i)
			name := unquote(data[i:nameEnd])
			i = skipSpace(data, nameEnd)
			i = skipSpace(data, i+1) // past the colon
			end := valueEnd(data, i)
			if !yield(name, data[i:end]) {
				return
			}
			i = skipSpace(data, end)
			if data[i] == '}' {
				return
			}
		}
	}
}

func skipSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t' {
		i++
	}
	return i
}

// valueEnd returns where the value that starts at i ends.
func valueEnd(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of the object that the value, a number or a word, stands in
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// unquote decodes a JSON string, without copying plain text.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 || !utf8.Valid(quoted) {
		var s string
		_ = json.Unmarshal(quoted, &s) // valid, so it cannot fail
		return []byte(s)
	}
	return quoted[1 : len(quoted)-1]
}

// Text returns the member of a JSON object that is a string, the last of that name as
// in go-sdk, and false where there is none. object must be valid JSON.
func Text(object []byte, name string) (text string, ok bool) {
	if len(object) == 0 {
		return "", false
	}
	for member, value := range members(object) {
		if string(member) != name {
			continue
		}
		if ok = value[0] == '"'; ok {
			text = string(unquote(value))
		}
	}
	return text, ok
}
