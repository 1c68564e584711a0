package boundary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxNesting is how deep a value may be nested. Together with the message around it
// that stays within a thousand, which is as deep as many decoders go.
const maxNesting = 990

// plainJSON is v as JSON that every client can read, or nil if v is nil. It runs the
// author's code, if there is any in v, for the last time: go-sdk copies JSON as it is.
func plainJSON(v any) (json.RawMessage, error) {
	raw, ok := v.(json.RawMessage)
	switch {
	case v == nil:
		return nil, nil
	case ok && len(raw) == 0:
		return nil, errors.New("an empty json.RawMessage")
	case ok && !json.Valid(raw):
		return nil, errors.New("a json.RawMessage that is not JSON")
	case !ok:
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		raw = data
	}
	return raw, sendable(raw)
}

// sendable says why valid JSON cannot be sent: clients differ in how they read
// text that is not UTF-8, of very deep values and of numbers beyond a float64, and
// many refuse the whole message.
func sendable(raw json.RawMessage) error {
	if !utf8.Valid(raw) {
		return errors.New("JSON that is not UTF-8")
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i++
			if end := bytes.IndexByte(raw[i:], '"'); bytes.IndexByte(raw[i:i+end], '\\') < 0 {
				i += end // as most strings do
				continue
			}
			for ; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return fmt.Errorf("JSON nested deeper than %d levels", maxNesting)
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			begin := i
			for i+1 < len(raw) && isNumeric(raw[i+1]) {
				i++
			}
			if _, err := strconv.ParseFloat(string(raw[begin:i+1]), 64); err != nil {
				return errors.New("a number that no float64 holds")
			}
		}
	}
	return nil
}

func isNumeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// plainMeta returns the _meta with every value that may hold code of the author's
// replaced by its JSON.
func plainMeta(meta mcp.Meta) (mcp.Meta, error) {
	out, own := meta, false
	for key, value := range meta {
		switch value.(type) {
		case nil, string, bool, int, int64, *mcp.Implementation:
			continue
		}
		data, err := plainJSON(value)
		if err != nil {
			return nil, fmt.Errorf("_meta %q: %w", key, err)
		}
		if !own {
			out, own = maps.Clone(meta), true
		}
		out[key] = data
	}
	return out, nil
}

// ownMeta is plainMeta in a map that the author does not have: go-sdk writes to the
// _meta of a result.
func ownMeta(meta mcp.Meta) (mcp.Meta, error) {
	plain, err := plainMeta(meta)
	return maps.Clone(plain), err
}

// isPlain reports whether v holds no code of an author's that runs when v is encoded.
func isPlain(v any, depth int) bool {
	every := func(values iter.Seq[any]) bool {
		for v := range values {
			if depth == 0 || !isPlain(v, depth-1) {
				return false
			}
		}
		return true
	}
	switch v := v.(type) {
	case nil, string, bool, int, int64, float64, json.RawMessage:
		return true
	case map[string]any:
		return every(maps.Values(v))
	case []any:
		return every(slices.Values(v))
	case *jsonschema.Schema:
		if v == nil || depth == 0 {
			return v == nil
		}
		if !every(slices.Values(v.Enum)) || !every(maps.Values(v.Extra)) || v.Const != nil && !isPlain(*v.Const, depth-1) || v.Examples != nil {
			return false
		}
		for _, sub := range slices.Concat(slices.Collect(maps.Values(v.Properties)), v.AnyOf, v.OneOf, []*jsonschema.Schema{v.Items}) {
			if !isPlain(sub, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}
