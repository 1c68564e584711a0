package boundary

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// PlainAccepts is what the plain schema says of v and of the JSON that v was, and
// the validator to compare it with; nil if the schema does not resolve.
func PlainAccepts(s *jsonschema.Schema, v any, data []byte) (decoded, scanned bool, _ *jsonschema.Resolved) {
	resolved, err := s.Resolve(nil)
	if err != nil {
		return false, false, nil
	}
	p := plainOf(s)
	return p != nil && p.accepts(v), p != nil && p.acceptsJSON(data), resolved
}

// The measures of a result's weight.
var (
	EscapedLen = escapedLen
	WeighJSON  = weighJSON
	Cut        = cut
)

// ResultFields are the exported fields of the SDK's result.
func ResultFields() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[mcp.CallToolResult]()) {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	return names
}
