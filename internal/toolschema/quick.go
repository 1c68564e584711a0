package toolschema

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A quickSchema accepts common values from their bytes, without decoding them: an
// object of strings, numbers, booleans and their arrays, as most tools take and
// return. Decoding and validating with reflection would cost as much again as
// all the rest of a boundary.
//
// Only its yes counts. It stops at anything unusual, such as an exponent or a
// name that the schema does not have, and leaves the value to the library.
type quickSchema struct {
	types      []string
	enum       []string
	required   []string
	properties map[string]*quickSchema
	items      *quickSchema
}

// quickOf is nil for a schema with a keyword that a quickSchema does not know.
func quickOf(s *jsonschema.Schema, depth int) *quickSchema {
	const (
		deepest      = 16 // a schema built in Go may contain itself
		mostRequired = 64 // object counts them in the bits of a uint64
	)
	if s == nil || depth > deepest || len(s.Required) > mostRequired || !isQuick(s) {
		return nil
	}
	q := &quickSchema{types: s.Types, required: s.Required}
	if s.Type != "" {
		q.types = []string{s.Type}
	}
	if s.Enum != nil { // an empty one allows nothing
		q.enum = []string{}
	}
	for _, v := range s.Enum {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		q.enum = append(q.enum, text)
	}
	if s.AdditionalProperties != nil && !isFalse(s.AdditionalProperties) {
		return nil
	}
	if s.Items != nil {
		if q.items = quickOf(s.Items, depth+1); q.items == nil {
			return nil
		}
	}
	q.properties = make(map[string]*quickSchema, len(s.Properties))
	for name, sub := range s.Properties {
		if q.properties[name] = quickOf(sub, depth+1); q.properties[name] == nil {
			return nil
		}
	}
	return q
}

// isQuick reports whether the schema has no keyword that bears on validity except
// those of a quickSchema. It clears the known ones and looks at the rest, so a
// keyword that a later version of the library learns makes it false.
func isQuick(s *jsonschema.Schema) bool {
	rest := *s
	rest.Type, rest.Types, rest.Enum, rest.Required = "", nil, nil, nil
	rest.Properties, rest.AdditionalProperties, rest.Items = nil, nil, nil
	rest.Schema, rest.Comment, rest.Title, rest.Description, rest.Examples = "", "", "", "", nil
	rest.Default, rest.Deprecated, rest.ReadOnly, rest.WriteOnly, rest.Format = nil, false, false, false, ""
	rest.PropertyOrder = nil
	return reflect.ValueOf(rest).IsZero()
}

// accepts reports whether data is one valid JSON value that satisfies the schema.
// It is false wherever it cannot tell.
func (q *quickSchema) accepts(data []byte) bool {
	if q == nil {
		return false
	}
	rest, ok := q.value(data)
	return ok && len(skipSpace(rest)) == 0
}

// value reads one value that satisfies the schema and returns the bytes after it.
func (q *quickSchema) value(data []byte) (rest []byte, ok bool) {
	data = skipSpace(data)
	if len(data) == 0 {
		return nil, false
	}
	switch data[0] {
	case '{':
		return q.object(data[1:])
	case '[':
		return q.array(data[1:])
	case '"':
		text, escaped, rest, ok := scanString(data)
		if !ok || !q.allows("string") || q.enum != nil && (escaped || !slices.Contains(q.enum, string(text))) {
			return nil, false
		}
		return rest, true
	case 't':
		return q.literal(data, "true", "boolean")
	case 'f':
		return q.literal(data, "false", "boolean")
	case 'n':
		return q.literal(data, "null", "null")
	}
	return q.number(data)
}

func (q *quickSchema) allows(of string) bool {
	return len(q.types) == 0 || slices.Contains(q.types, of)
}

func (q *quickSchema) literal(data []byte, word, of string) (rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(data, []byte(word))
	return rest, ok && q.enum == nil && q.allows(of)
}

// number reads digits with an optional fraction. A whole number is short enough
// to be exact in a float64.
func (q *quickSchema) number(data []byte) (rest []byte, ok bool) {
	const longest = 15
	rest = bytes.TrimPrefix(data, []byte("-"))
	whole := countDigits(rest)
	if whole == 0 || whole > longest || whole > 1 && rest[0] == '0' || q.enum != nil {
		return nil, false
	}
	rest = rest[whole:]
	fits := q.allows("number") || q.allows("integer")
	if fraction, found := bytes.CutPrefix(rest, []byte(".")); found {
		n := countDigits(fraction)
		rest, fits = fraction[n:], n > 0 && q.allows("number")
	}
	if len(rest) > 0 && (rest[0] == 'e' || rest[0] == 'E') {
		return nil, false
	}
	return rest, fits
}

func countDigits(data []byte) (n int) {
	for n < len(data) && '0' <= data[n] && data[n] <= '9' {
		n++
	}
	return n
}

func (q *quickSchema) object(data []byte) (rest []byte, ok bool) {
	if !q.allows("object") || q.enum != nil {
		return nil, false
	}
	if rest, empty := bytes.CutPrefix(skipSpace(data), []byte("}")); empty {
		return rest, len(q.required) == 0
	}
	var seen uint64
	for {
		name, escaped, rest, ok := scanString(skipSpace(data))
		if !ok || escaped {
			return nil, false
		}
		sub := q.properties[string(name)]
		rest, colon := bytes.CutPrefix(skipSpace(rest), []byte(":"))
		if sub == nil || !colon {
			return nil, false
		}
		if rest, ok = sub.value(rest); !ok {
			return nil, false
		}
		for i, required := range q.required {
			if required == string(name) {
				seen |= 1 << i
			}
		}
		more, rest, ok := separator(rest, '}')
		if !ok {
			return nil, false
		}
		if !more {
			return rest, seen == 1<<len(q.required)-1
		}
		data = rest
	}
}

func (q *quickSchema) array(data []byte) (rest []byte, ok bool) {
	if !q.allows("array") || q.enum != nil || q.items == nil {
		return nil, false
	}
	if rest, empty := bytes.CutPrefix(skipSpace(data), []byte("]")); empty {
		return rest, true
	}
	for {
		rest, ok := q.items.value(data)
		if !ok {
			return nil, false
		}
		more, rest, ok := separator(rest, ']')
		if !ok || !more {
			return rest, ok
		}
		data = rest
	}
}

// separator reads the comma before another element, or the closing bracket.
func separator(data []byte, closing byte) (more bool, rest []byte, ok bool) {
	data = skipSpace(data)
	if len(data) == 0 || data[0] != ',' && data[0] != closing {
		return false, nil, false
	}
	return data[0] == ',', data[1:], true
}

// scanString reads a string and returns the bytes between its quotes. Escapes of
// one letter are read over; a \u escape is left to the library.
func scanString(data []byte) (text []byte, escaped bool, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, false, nil, false
	}
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return data[1:i], escaped, data[i+1:], true
		case c < ' ':
			return nil, false, nil, false
		case c == '\\':
			escaped = true
			if i++; i == len(data) || strings.IndexByte(`"\/bfnrt`, data[i]) < 0 {
				return nil, false, nil, false
			}
		}
	}
	return nil, false, nil, false
}

func skipSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }
