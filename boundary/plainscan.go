package boundary

import (
	"bytes"
	"slices"
)

// acceptsJSON judges arguments as they came, without decoding them: on a small
// call, decoding is most of what a boundary costs. It says yes only to what it
// has read to the last byte and knows to be valid; at anything out of the common,
// an escape, an exponent, a name the schema does not have, it leaves the judging
// to accepts.
func (p *plainSchema) acceptsJSON(data []byte) bool {
	rest, ok := p.scan(data)
	return ok && len(blank(rest)) == 0
}

// scan reads one value that satisfies the schema and returns what follows it.
func (p *plainSchema) scan(data []byte) (rest []byte, ok bool) {
	data = blank(data)
	if len(data) == 0 {
		return nil, false
	}
	switch data[0] {
	case '{':
		return p.scanObject(data[1:])
	case '[':
		return p.scanArray(data[1:])
	case '"':
		text, rest, ok := scanString(data)
		if !ok || !slices.Contains(p.types, "string") || p.enum != nil && !slices.Contains(p.enum, string(text)) {
			return nil, false
		}
		return rest, true
	case 't', 'f':
		for _, word := range [][]byte{[]byte("true"), []byte("false")} {
			if rest, found := bytes.CutPrefix(data, word); found {
				return rest, p.enum == nil && slices.Contains(p.types, "boolean")
			}
		}
		return nil, false
	}
	return p.scanNumber(data)
}

// scanNumber takes the numbers that are written as plain integers.
func (p *plainSchema) scanNumber(data []byte) (rest []byte, ok bool) {
	const longest = 15 // more may not be what a float64 holds
	digits := bytes.TrimPrefix(data, []byte("-"))
	n := 0
	for n < len(digits) && '0' <= digits[n] && digits[n] <= '9' {
		n++
	}
	leadingZero := n > 1 && digits[0] == '0'
	more := n < len(digits) && (digits[n] == '.' || digits[n] == 'e' || digits[n] == 'E')
	if n == 0 || n > longest || leadingZero || more || p.enum != nil {
		return nil, false
	}
	return digits[n:], slices.Contains(p.types, "integer") || slices.Contains(p.types, "number")
}

func (p *plainSchema) scanObject(data []byte) (rest []byte, ok bool) {
	if !slices.Contains(p.types, "object") || p.enum != nil || len(p.required) > 64 {
		return nil, false
	}
	var seen uint64
	data = blank(data)
	if rest, empty := bytes.CutPrefix(data, []byte("}")); empty {
		return rest, len(p.required) == 0
	}
	for {
		name, rest, ok := scanString(blank(data))
		if !ok {
			return nil, false
		}
		sub := p.properties[string(name)]
		rest, colon := bytes.CutPrefix(blank(rest), []byte(":"))
		if sub == nil || !colon {
			return nil, false
		}
		if rest, ok = sub.scan(rest); !ok {
			return nil, false
		}
		for i, required := range p.required {
			if required == string(name) {
				seen |= 1 << i
			}
		}
		if rest = blank(rest); len(rest) == 0 {
			return nil, false
		}
		switch rest[0] {
		case '}':
			return rest[1:], seen == 1<<len(p.required)-1
		case ',':
			data = rest[1:]
		default:
			return nil, false
		}
	}
}

func (p *plainSchema) scanArray(data []byte) (rest []byte, ok bool) {
	if !slices.Contains(p.types, "array") || p.enum != nil || p.items == nil {
		return nil, false
	}
	data = blank(data)
	if rest, empty := bytes.CutPrefix(data, []byte("]")); empty {
		return rest, true
	}
	for {
		if data, ok = p.items.scan(data); !ok {
			return nil, false
		}
		if data = blank(data); len(data) == 0 {
			return nil, false
		}
		switch data[0] {
		case ']':
			return data[1:], true
		case ',':
			data = data[1:]
		default:
			return nil, false
		}
	}
}

// scanString reads a string without escapes.
func scanString(data []byte) (text, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return data[1:i], data[i+1:], true
		case c == '\\' || c < ' ':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

func blank(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }
