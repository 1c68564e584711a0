package boundary

import (
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The measures of a result's size.
var (
	EscapedSize = escapedSize
	JSONSize    = jsonSize
	EndWithin   = endWithin
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
