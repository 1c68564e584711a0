package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The functions here locate values in JSON that is known to be valid: a repaired
// conversation is written from the very bytes it was read from.

// span is the half-open range of a value in the bytes that hold it.
type span struct{ start, end int }

func (s span) of(src []byte) []byte { return src[s.start:s.end] }

// within returns the same range counted from another start.
func (s span) within(start int) span { return span{s.start - start, s.end - start} }

// trimmed is the range of src without the white space around it.
func trimmed(src []byte) span {
	const space = " \t\r\n"
	return span{len(src) - len(bytes.TrimLeft(src, space)), len(bytes.TrimRight(src, space))}
}

type member struct {
	key   string
	keyAt int
	value span
}

// members returns the members of an object.
func members(src []byte, object span) []member {
	var out []member
	r := open(src, object)
	for r.dec.More() {
		comma := r.at()
		key, _ := r.dec.Token()
		m := member{keyAt: comma + bytes.IndexByte(src[comma:], '"'), value: r.value()}
		m.key, _ = key.(string)
		out = append(out, m)
	}
	return out
}

// elements returns the elements of an array.
func elements(src []byte, array span) []span {
	var out []span
	for r := open(src, array); r.dec.More(); {
		out = append(out, r.value())
	}
	return out
}

// A reader reads the values inside an object or an array. Its errors are dropped,
// because the JSON is valid.
type reader struct {
	dec   *json.Decoder
	start int
}

func open(src []byte, outer span) reader {
	dec := json.NewDecoder(bytes.NewReader(outer.of(src)))
	_, _ = dec.Token() // the bracket
	return reader{dec, outer.start}
}

func (r reader) at() int { return r.start + int(r.dec.InputOffset()) }

func (r reader) value() span {
	var raw json.RawMessage
	_ = r.dec.Decode(&raw)
	return span{r.at() - len(raw), r.at()}
}

// layoutOf returns the layout of an array: the white space before its first element
// is taken to stand before the others too.
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

// unquote decodes a valid JSON string.
func unquote(quoted []byte) string {
	var s string
	_ = json.Unmarshal(quoted, &s)
	return s
}

// quote encodes a string.
func quote(s string) []byte {
	quoted, _ := json.Marshal(s)
	return quoted
}
